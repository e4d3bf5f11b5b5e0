import type { PagesSource } from "../api/pages/file.ts";

/** The files of the dashboard, for the build, too. */
export const DASHBOARD: PagesSource = {
  name: "dashboard",
  folder: "admin/dashboard/",
  path: "/",
  packages: ["uplot"],
};

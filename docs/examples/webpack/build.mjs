import { promisify } from "node:util";
import webpack from "webpack";
import config from "./webpack.config.mjs";

const stats = await promisify(webpack)(config);
if (stats.hasErrors()) throw new Error(stats.toString("errors-only"));

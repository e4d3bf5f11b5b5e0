/** The text of `/metrics`, in either format. Only imported when somebody scrapes. */

import { type Measured, readFamilies } from "./families.ts";
import { processFamilies } from "./process.ts";
import type { Family } from "./samples.ts";

export interface Exposition {
  readonly contentType: string;
  readonly text: string;
}

export type Expose = (accept: string | undefined) => Exposition;

/** How welcome a type is, 0 to 1: the largest weight that a scraper gives it by its name, or undefined. */
function weightOf(accept: string, wanted: string): number | undefined {
  const weights = accept.split(",").flatMap((range) => {
    const [type, ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    if (type !== wanted) return [];
    const weight = Number(parameters.find((one) => one.startsWith("q="))?.slice(2) ?? 1);
    return [weight >= 0 && weight <= 1 ? weight : 0];
  });
  return weights.length === 0 ? undefined : Math.max(...weights);
}

/** OpenMetrics where it is named and no less welcome than the older format, which all others get. */
function wantsOpenMetrics(accept = ""): boolean {
  const weight = weightOf(accept, "application/openmetrics-text") ?? 0;
  return weight > 0 && weight >= (weightOf(accept, "text/plain") ?? 0);
}

/** A metric as text. OpenMetrics describes a counter without the end that the names of its values have. */
function textOf({ name, help, type, values }: Family, isOpenMetrics: boolean): string {
  const described = isOpenMetrics && type === "counter" ? name.replace(/_total$/, "") : name;
  const lines = values.map(
    ({ suffix = "", labels, value }) => `${name}${suffix}${labels === "" ? "" : `{${labels}}`} ${value}`,
  );
  return [`# HELP ${described} ${help}`, `# TYPE ${described} ${type}`, ...lines].join("\n");
}

export function createExposition(measured: Measured): Expose {
  return (accept) => {
    const isOpenMetrics = wantsOpenMetrics(accept);
    const texts = [...readFamilies(measured), ...processFamilies()].map((one) => textOf(one, isOpenMetrics));
    return isOpenMetrics
      ? {
          contentType: "application/openmetrics-text; version=1.0.0; charset=utf-8",
          text: `${texts.join("\n")}\n# EOF\n`,
        }
      : { contentType: "text/plain; version=0.0.4; charset=utf-8", text: `${texts.join("\n\n")}\n` };
  };
}

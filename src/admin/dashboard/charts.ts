/** Lines over the last ten minutes, drawn by uPlot, with a legend of text. */

import uPlot from "uplot";
import type { Status } from "../status.ts";
import { foreign, make } from "./dom.ts";
import { clock } from "./format.ts";
import { type Seen, span } from "./history.ts";
import type { CardPart } from "./parts.ts";

export interface Line {
  /** Unique within the chart. */
  readonly label: string;
  /** Number of a colour of the style sheet. */
  readonly colour: number;
  /** Its figure at a moment; null if unknown. */
  readonly of: (figures: NonNullable<Seen["figures"]>) => number | null;
}

interface ChartSettings {
  readonly lines: (status: Status) => readonly Line[];
  readonly write: (value: number | null) => string;
  /** Whether lines are stacked, so that the highest is their sum. */
  readonly isStacked?: true;
  /** The top of the y axis at the least, so that a quiet server is a low line and not noise; 1 when absent. */
  readonly least?: number;
  /** Whether the y axis is logarithmic, for figures that are mostly low and at times far higher. */
  readonly isLogarithmic?: true;
}

function powersOfTen(_: uPlot, __: number, from: number, to: number): number[] {
  return Array.from({ length: Math.round(Math.log10(to / from)) + 1 }, (_, at) => from * 10 ** at);
}

/** The y axis: from 0 to a little above the highest figure, or between powers of ten. */
function scaleOf({ isLogarithmic, least = 1 }: ChartSettings): uPlot.Scale {
  if (isLogarithmic)
    return { distr: 3, range: (_, low, high) => uPlot.rangeLog(low ?? 1, high ?? 1, 10, true) };
  return { range: (_, __, most) => [0, Math.max(least, (most ?? 0) * 1.1)] };
}

/** The current value of a style sheet colour, light or dark. */
function colourOf(place: HTMLElement, name: string): string {
  place.style.color = `var(--${name})`;
  return getComputedStyle(place).color;
}

function optionsOf(
  settings: ChartSettings,
  lines: readonly Line[],
  place: HTMLElement,
  [from, to]: ReturnType<typeof span>,
): uPlot.Options {
  const { write, isStacked, isLogarithmic } = settings;
  const axis: uPlot.Axis = {
    stroke: colourOf(place, "quiet"),
    font: `12px ${getComputedStyle(document.body).fontFamily}`,
    ticks: { show: false },
  };
  return {
    width: place.clientWidth,
    height: place.clientHeight,
    legend: { show: false },
    cursor: { show: false },
    padding: [8, 26, 0, 0],
    scales: { x: { range: [from, to] }, y: scaleOf(settings) },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 26,
        space: 70,
        values: (_, splits) => splits.map((at) => clock.format(at * 1000)),
      },
      {
        ...axis,
        grid: { stroke: colourOf(place, "grid"), width: 1 },
        size: 62,
        gap: 4,
        space: 34,
        // A line for each power of ten, none between them.
        ...(isLogarithmic && { splits: powersOfTen }),
        values: (_, splits) => splits.map(write),
      },
    ],
    series: [
      {},
      ...lines.map(({ label, colour }): uPlot.Series => {
        const stroke = colourOf(place, `series-${colour}`);
        const drawn: uPlot.Series = { label, stroke, width: 1.5, points: { show: false }, spanGaps: false };
        // A stack is painted from the top down, each line over the higher ones.
        return isStacked ? { ...drawn, fill: stroke, width: 0 } : drawn;
      }),
    ],
  };
}

interface Column extends Line {
  readonly figures: readonly (number | null)[];
}

/** Each column plus all later ones: the first is the sum of all. */
function stack(columns: readonly Column[]): Column["figures"][] {
  const stacked: Column["figures"][] = [];
  for (const { figures } of columns.slice().reverse()) {
    const below = stacked[0];
    stacked.unshift(figures.map((figure, at) => (figure === null ? null : figure + (below?.[at] ?? 0))));
  }
  return stacked;
}

function describe({ write }: ChartSettings, columns: readonly Column[]): string {
  const parts = columns.map(({ label, figures }) => {
    const known = figures.filter((figure) => figure !== null);
    if (known.length === 0) return `${label}: nothing`;
    return `${label}: now ${write(known.at(-1)!)}, most ${write(Math.max(...known))}`;
  });
  return `Up to 10 minutes back. ${parts.join("; ")}`;
}

/** A chart and its legend. A drawn chart keeps its lines, colours and width, so each status draws a new one. */
export function chart(id: string, settings: ChartSettings): CardPart {
  const { isStacked, lines, write } = settings;
  const place = make("div", { id: `${id}-chart`, class: "chart", role: "img" });
  let history: readonly Seen[] = [];
  let columns: readonly Column[] = [];
  let plot: uPlot | undefined;

  const draw = (): void => {
    plot?.destroy();
    plot = undefined;
    if (history.length === 0 || place.clientWidth === 0) return;
    const figures = isStacked ? stack(columns) : columns.map(({ figures }) => figures);
    const data = [history.map(({ at }) => at), ...figures] as uPlot.AlignedData;
    plot = new uPlot(optionsOf(settings, columns, place, span(history)), data, place);
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  new ResizeObserver(draw).observe(place);

  return (status, seen) => {
    history = seen;
    columns = lines(status).map((line): Column => {
      return { ...line, figures: seen.map(({ figures }) => (figures ? line.of(figures) : null)) };
    });
    draw();
    place.setAttribute("aria-label", describe(settings, columns));
    const legend = columns.map(({ label, colour, figures }) => {
      const figure = make("b", {}, write(figures.at(-1) ?? null));
      const swatch = make("span", { "aria-hidden": "true" }, "■");
      swatch.style.color = `var(--series-${colour})`;
      return make("li", { class: "row" }, swatch, foreign(label, "quiet"), figure);
    });
    return [place, make("ul", { id: `${id}-legend`, class: "row" }, ...legend)];
  };
}

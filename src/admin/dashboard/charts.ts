/** Lines over the last ten minutes, drawn by uPlot, with a legend that is text. */

import uPlot from "uplot";
import { byId, fillRows, foreign, make, setForeign, setText } from "./dom.ts";
import { column, type History, span } from "./history.ts";

/** One line. */
export interface Line {
  /** What its figures are called in the history. */
  readonly name: string;
  /** For people. */
  readonly label: string;
  /** 1 to 5: which of the style sheet's colours. */
  readonly colour: number;
}

/** What a chart is like. */
export interface ChartSettings {
  /** Of its elements: `ID-chart` and `ID-legend`. */
  readonly id: string;
  /** What it shows, for those who do not see it: "Requests a second by status". */
  readonly title: string;
  readonly height: number;
  /** How a figure is written. */
  readonly write: (value: number | null) => string;
  /** Whether lines stand one on the other, so that the highest is their sum. */
  readonly isStacked?: boolean;
  /** The highest figure that is drawn at the least, so that a quiet server is a low line and not noise. */
  readonly least: number;
  /** Whether each power of ten is as high as the next, for figures that are mostly low and at times far higher. */
  readonly isLogarithmic?: boolean;
}

/** A chart on the page. */
export interface Chart {
  /** @param now what the legend shows beside each line; the newest of its figures where it is absent */
  readonly draw: (history: History, lines: readonly Line[], now?: (line: Line) => string) => void;
}

function styleOf(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const clockWithSeconds = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });

/** Moments along the x axis. */
function writeMoments(moments: readonly number[]): string[] {
  const isWhole = moments.every((moment) => moment % 60 === 0);
  return moments.map((moment) => (isWhole ? clock : clockWithSeconds).format(moment * 1000));
}

/** Powers of ten around some figures: one below, and those up to the highest. */
function powersAround(least: number, most: number): [from: number, to: number] {
  const to = Math.max(0, Math.ceil(Math.log10(most)));
  return [10 ** Math.min(to - 1, Math.max(to - 6, Math.floor(Math.log10(least)))), 10 ** to];
}

function powersBetween(from: number, to: number): number[] {
  const first = Math.round(Math.log10(from));
  return Array.from({ length: Math.round(Math.log10(to)) - first + 1 }, (_, at) => 10 ** (first + at));
}

/** The y axis: from nothing to a little more than the highest figure, or between powers of ten. */
function scaleOf({ isLogarithmic, least }: ChartSettings): uPlot.Scale {
  if (!isLogarithmic) return { range: (_, __, most) => [0, Math.max(least, (most ?? 0) * 1.1)] };
  return { distr: 3, range: (_, low, high) => powersAround(low > 0 ? low : least, high > 0 ? high : least) };
}

function optionsOf(settings: ChartSettings, lines: readonly Line[], width: number): uPlot.Options {
  const { height, write, isStacked, isLogarithmic } = settings;
  const quiet = styleOf("--quiet");
  const grid = { stroke: styleOf("--grid"), width: 1 };
  const font = `12px ${getComputedStyle(document.body).fontFamily}`;
  return {
    width,
    height,
    legend: { show: false },
    cursor: { show: false },
    padding: [8, 26, 0, 0],
    scales: { y: scaleOf(settings) },
    axes: [
      {
        stroke: quiet,
        font,
        grid: { show: false },
        ticks: { show: false },
        size: 26,
        space: 70,
        values: (_, splits) => writeMoments(splits),
      },
      {
        stroke: quiet,
        font,
        grid,
        ticks: { show: false },
        size: 62,
        gap: 4,
        space: 34,
        values: (_, splits) => splits.map(write),
        ...(isLogarithmic
          ? {
              filter: (_: uPlot, powers: number[]) => powers,
              splits: (_: uPlot, __: number, from: number, to: number) => powersBetween(from, to),
            }
          : {}),
      },
    ],
    series: [
      {},
      ...lines.map(({ label, colour }): uPlot.Series => {
        const stroke = styleOf(`--series-${colour}`);
        const drawn: uPlot.Series = { label, stroke, width: 1.5, points: { show: false }, spanGaps: false };
        // A stack is painted from the top down, each over what is above it.
        return isStacked ? { ...drawn, fill: stroke, width: 0 } : drawn;
      }),
    ],
  };
}

type Column = (number | null)[];

/** Each column plus all behind it: the first is the sum of all. */
function stack(columns: readonly Column[]): Column[] {
  const stacked: Column[] = [];
  for (const figures of columns.slice().reverse()) {
    const below = stacked[0];
    stacked.unshift(figures.map((figure, at) => (figure === null ? null : figure + (below?.[at] ?? 0))));
  }
  return stacked;
}

function describe(
  title: string,
  lines: readonly Line[],
  columns: readonly Column[],
  write: ChartSettings["write"],
): string {
  const parts = lines.map(({ label }, at) => {
    const known = columns[at]!.filter((figure) => figure !== null);
    if (known.length === 0) return `${label}: nothing`;
    return `${label}: now ${write(known.at(-1)!)}, most ${write(known.reduce((most, figure) => Math.max(most, figure)))}`;
  });
  return `${title}, up to 10 minutes back. ${parts.join("; ")}`;
}

function fillLegend(legend: HTMLElement, lines: readonly Line[], valueFor: (line: Line) => string): void {
  fillRows(legend, lines, {
    keyOf: (line) => `${line.colour} ${line.name}`,
    make: () => make("li", {}, make("span", { "aria-hidden": true }), foreign("", "name"), make("b")),
    update: (row, line) => {
      const [swatch, label, value] = row.children as unknown as [HTMLElement, HTMLElement, HTMLElement];
      if (swatch.className === "") swatch.className = `swatch swatch-${line.colour}`;
      setForeign(label, line.label);
      setText(value, valueFor(line));
    },
  });
}

/** Makes a chart in its place. */
export function createChart(settings: ChartSettings): Chart {
  const { id, title, height, write } = settings;
  const place = byId(`${id}-chart`);
  const legend = byId(`${id}-legend`);
  place.setAttribute("role", "img");
  place.setAttribute("aria-label", title);
  let plot: uPlot | undefined;
  let drawn: readonly Line[] = [];
  let again = (): void => {};

  function remake(): void {
    plot?.destroy();
    plot = undefined;
    again();
  }
  // Colours are drawn, and widths are numbers: both have to be taken anew.
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", remake);
  new ResizeObserver(() => plot?.setSize({ width: place.clientWidth, height })).observe(place);

  return {
    draw(history, lines, now) {
      again = () => this.draw(history, lines, now);
      const columns = lines.map((line) => column(history, line.name));
      const isSame =
        drawn.length === lines.length &&
        lines.every(({ name, colour }, at) => drawn[at]!.name === name && drawn[at]!.colour === colour);
      if (!isSame) {
        plot?.destroy();
        plot = undefined;
        drawn = lines;
      }
      if (place.clientWidth > 0) {
        const shown = settings.isStacked ? stack(columns) : columns;
        plot ??= new uPlot(optionsOf(settings, lines, place.clientWidth), undefined, place);
        const [min, max] = span(history);
        plot.batch(() => {
          plot!.setData([history.moments, ...shown], false);
          plot!.setScale("x", { min, max });
        });
      }
      place.setAttribute("aria-label", describe(title, lines, columns, write));
      fillLegend(legend, lines, now ?? ((line) => write(column(history, line.name).at(-1) ?? null)));
    },
  };
}

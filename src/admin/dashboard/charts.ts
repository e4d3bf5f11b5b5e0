/** Lines over the last ten minutes, drawn by uPlot, with a legend that is text. */

import uPlot from "uplot";
import type { Status } from "../status.ts";
import { fill, foreign, make } from "./dom.ts";
import { column, type ShownHistory, span } from "./history.ts";
import type { CardPart } from "./parts.ts";

/** One line. */
export interface Line {
  /** Name of its figures in the history. */
  readonly name: string;
  /** For people. */
  readonly label: string;
  /** 1 to 5: which of the style sheet's colours. */
  readonly colour: number;
}

/** What a chart is like. */
interface ChartSettings {
  /** Its elements are `ID-chart` and `ID-legend`. */
  readonly id: string;
  /** Its content, for screen readers: "Requests a second by status". */
  readonly title: string;
  readonly isLow?: boolean;
  readonly lines: (status: Status) => readonly Line[];
  /** How a figure is written. */
  readonly write: (value: number | null) => string;
  /** Whether lines stand one on the other, so that the highest is their sum. */
  readonly isStacked?: boolean;
  /** The highest figure that is drawn at the least, so that a quiet server is a low line and not noise. */
  readonly least: number;
  /** Whether each power of ten is as high as the next, for figures that are mostly low and at times far higher. */
  readonly isLogarithmic?: boolean;
}

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const clockWithSeconds = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });

/** Moments along the x axis. */
function writeMoments(moments: readonly number[]): string[] {
  const isWhole = moments.every((moment) => moment % 60 === 0);
  return moments.map((moment) => (isWhole ? clock : clockWithSeconds).format(moment * 1000));
}

/** Powers of ten around some figures: one below, and all up to the highest. */
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

/** A colour of the style sheet as it is now, light or dark. */
function colourOf(place: HTMLElement, name: string): string {
  place.style.color = `var(--${name})`;
  return getComputedStyle(place).color;
}

function optionsOf(settings: ChartSettings, lines: readonly Line[], place: HTMLElement): uPlot.Options {
  const { write, isStacked, isLogarithmic } = settings;
  const axis: uPlot.Axis = {
    stroke: colourOf(place, "quiet"),
    font: `12px ${getComputedStyle(document.body).fontFamily}`,
    ticks: { show: false },
  };
  const powers: uPlot.Axis = {
    filter: (_, splits) => splits,
    splits: (_, __, from, to) => powersBetween(from, to),
  };
  return {
    width: place.clientWidth,
    height: place.clientHeight,
    legend: { show: false },
    cursor: { show: false },
    padding: [8, 26, 0, 0],
    scales: { y: scaleOf(settings) },
    axes: [
      { ...axis, grid: { show: false }, size: 26, space: 70, values: (_, splits) => writeMoments(splits) },
      {
        ...axis,
        grid: { stroke: colourOf(place, "grid"), width: 1 },
        ...{ size: 62, gap: 4, space: 34 },
        values: (_, splits) => splits.map(write),
        ...(isLogarithmic ? powers : {}),
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

type Figures = (number | null)[];

/** Each column plus all later ones: the first is the sum of all. */
function stack(columns: readonly Figures[]): Figures[] {
  const stacked: Figures[] = [];
  for (const figures of columns.slice().reverse()) {
    const below = stacked[0];
    stacked.unshift(figures.map((figure, at) => (figure === null ? null : figure + (below?.[at] ?? 0))));
  }
  return stacked;
}

/** Two lines of one chart that are drawn alike have the same one. */
function keyOf(lines: readonly Line[]): string {
  return lines.map(({ name, colour }) => `${colour} ${name}`).join("\n");
}

/** A chart and its legend. */
export class Chart implements CardPart {
  readonly elements: readonly [place: HTMLElement, legend: HTMLElement];
  readonly #settings: ChartSettings;
  #history: ShownHistory | undefined;
  #lines: readonly Line[] = [];
  #plot: uPlot | undefined;

  constructor(settings: ChartSettings) {
    this.#settings = settings;
    const { id, title, isLow } = settings;
    const place = make("div", {
      id: `${id}-chart`,
      class: isLow ? "chart low" : "chart",
      role: "img",
      "aria-label": title,
    });
    this.elements = [place, make("ul", { id: `${id}-legend`, class: "legend" })];
    // Colours are drawn, and widths are numbers: both have to be taken anew.
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.#forget();
      this.#draw();
    });
    new ResizeObserver(() =>
      this.#plot?.setSize({ width: place.clientWidth, height: place.clientHeight }),
    ).observe(place);
  }

  show(status: Status, history: ShownHistory): void {
    const lines = this.#settings.lines(status);
    if (keyOf(lines) !== keyOf(this.#lines)) this.#forget();
    this.#history = history;
    this.#lines = lines;
    this.#draw();
  }

  #forget(): void {
    this.#plot?.destroy();
    this.#plot = undefined;
  }

  #draw(): void {
    const [place, legend] = this.elements;
    const history = this.#history;
    if (history === undefined) return;
    const { isStacked, write } = this.#settings;
    const columns = this.#lines.map(({ name }) => column(history, name));
    if (place.clientWidth > 0) {
      const plot = this.#plot ?? new uPlot(optionsOf(this.#settings, this.#lines, place), undefined, place);
      this.#plot = plot;
      const [min, max] = span(history);
      plot.batch(() => {
        plot.setData([history.moments, ...(isStacked ? stack(columns) : columns)], false);
        plot.setScale("x", { min, max });
      });
    }
    place.setAttribute("aria-label", this.#describe(columns));
    const now = this.#lines.map(({ label, colour }, at) => {
      const swatch = make("span", { "aria-hidden": "true", class: `swatch swatch-${colour}` });
      return make(
        "li",
        {},
        swatch,
        foreign(label, "name"),
        make("b", {}, write(columns[at]!.at(-1) ?? null)),
      );
    });
    fill(legend, ...now);
  }

  #describe(columns: readonly Figures[]): string {
    const { title, write } = this.#settings;
    const parts = this.#lines.map(({ label }, at) => {
      const known = columns[at]!.filter((figure) => figure !== null);
      if (known.length === 0) return `${label}: nothing`;
      return `${label}: now ${write(known.at(-1)!)}, most ${write(known.reduce((most, figure) => Math.max(most, figure)))}`;
    });
    return `${title}, up to 10 minutes back. ${parts.join("; ")}`;
  }
}

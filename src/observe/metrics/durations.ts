/** The histogram of requests as values. */

import { BASE_PATH } from "../../model/model.ts";
import type { RequestCells } from "./counters.ts";
import {
  BOUNDS_MS,
  BUCKETS,
  DURATIONS,
  FIRST_SHOWN,
  NO_STATUS,
  REQUESTS,
  SECONDS,
  SERIES,
  SLICE,
  seriesAt,
} from "./layout.ts";
import { histogram, type Labels, labelsOf, type Sample } from "./samples.ts";

/** Upper ends of the buckets that are shown, in seconds. */
const SHOWN_BOUNDS = BOUNDS_MS.slice(FIRST_SHOWN).map((ms) => ms / 1000);

/** Durations of requests by series, summed over all threads. */
export function durationSamples(cells: RequestCells): Sample[] {
  const samples: Sample[] = [];
  for (let series = 0; series < SERIES; series++) {
    let count = 0;
    for (let slice = 0; slice < cells.length; slice += SLICE) count += cells[slice + REQUESTS + series]!;
    if (count === 0) continue;
    const shown = new Array<number>(SHOWN_BOUNDS.length + 1).fill(0);
    let seconds = 0;
    for (let slice = 0; slice < cells.length; slice += SLICE) {
      seconds += cells[slice + SECONDS + series]!;
      const from = slice + DURATIONS + series * BUCKETS;
      for (let bucket = 0; bucket < BUCKETS; bucket++) {
        shown[Math.max(0, bucket - FIRST_SHOWN)]! += cells[from + bucket]!;
      }
    }
    for (const sample of histogram(requestLabels(series), shown, SHOWN_BOUNDS, seconds)) samples.push(sample);
  }
  return samples;
}

function requestLabels(series: number): Labels {
  const { method, route, status } = seriesAt(series);
  return labelsOf({
    http_request_method: method,
    ...(route === "" ? {} : { http_route: BASE_PATH + route }),
    ...(status === NO_STATUS ? {} : { http_response_status_code: String(status) }),
  });
}

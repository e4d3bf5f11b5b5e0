/** Requests of the API's client to a replica in the same process: the pipeline without HTTP objects. */

import { answer, type State } from "../api/answer.ts";
import { splitHeaders } from "../api/headers.ts";
import { bodyBytes } from "../model/body.ts";
import type { ChosenCaller, Reply } from "../model/message.ts";

/** Host of the URLs that are asked for; nothing is sent there. */
export const LOCAL_ORIGIN = "http://orrery.local";

/** The part of a `Response` that the client reads. */
class LocalResponse {
  readonly #reply: Reply;
  readonly status: number;

  constructor(reply: Reply) {
    this.#reply = reply;
    this.status = reply.status;
  }

  get headers(): Pick<Headers, "get"> {
    const { etag, headers } = this.#reply;
    return {
      get(name) {
        if (name === "etag" && etag !== undefined) return etag;
        const list = splitHeaders(headers);
        const at = list.findIndex(
          (text, index) => index % 2 === 0 && text.toLowerCase() === name.toLowerCase(),
        );
        return at < 0 ? null : list[at + 1]!;
      },
    };
  }

  async text(): Promise<string> {
    return bodyBytes(this.#reply.body).toString("utf8");
  }
}

/** The options with which the client asks. */
interface LocalInit {
  readonly headers: { readonly authorization: string; readonly "if-match"?: string };
  readonly signal?: AbortSignal | null;
}

/** Makes the `fetch` of a client, for one caller where there is one. */
export function createLocalFetch(state: State, caller: ChosenCaller | undefined): typeof globalThis.fetch {
  const local = async (url: string, { headers, signal }: LocalInit): Promise<LocalResponse> =>
    new LocalResponse(
      await answer(
        {
          method: "GET",
          target: url.slice(LOCAL_ORIGIN.length),
          authorization: headers.authorization,
          caller,
          ifNoneMatch: undefined,
          ifMatch: headers["if-match"],
          now: Date.now(),
          isGone: signal ? () => signal.aborted : undefined,
        },
        state,
      ),
    );
  return local as unknown as typeof globalThis.fetch;
}

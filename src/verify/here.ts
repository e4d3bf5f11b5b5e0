/** Answers of the snapshot, and the lists that they are pages of. */

import { createRouter } from "../api/router.ts";
import { ROUTES } from "../api/routes.ts";
import type { DirectDoor } from "../http/direct.ts";
import { BASE_PATH } from "../model/model.ts";
import { RESOURCES } from "../model/schema.ts";
import { splitTarget } from "../model/target.ts";
import type { ApiAnswer } from "./difference.ts";
import type { Probe } from "./plan.ts";

const PAGE = 50;
const route = createRouter(ROUTES, "");

/** A whole list of the snapshot. */
export interface WholeList {
  /** Ids in order. */
  readonly ids: readonly string[];
  /** Places by id. */
  readonly places: ReadonlyMap<string, number>;
}

/** A snapshot that is asked. */
export class Here {
  readonly #ask: DirectDoor;
  readonly #token: string;
  readonly #lists = new Map<string, Promise<WholeList>>();

  /** @param token that it takes */
  constructor(ask: DirectDoor, token: string) {
    this.#ask = ask;
    this.#token = token;
  }

  async answer({ target, authorization = `Bearer ${this.#token}` }: Probe): Promise<ApiAnswer> {
    const ask = { target: BASE_PATH + target, authorization: authorization ?? undefined };
    const { status, headers, body } = await this.#ask(ask);
    return { status, header: (name) => headers[name], body: body === "" ? undefined : JSON.parse(body) };
  }

  /** The list that a target is a page of. */
  listOf(target: string): Promise<WholeList> {
    const [path = "", words] = target.split("?");
    const query = new URLSearchParams(words);
    query.delete("limit");
    query.delete("offset");
    const key = query.size === 0 ? path : `${path}?${query}`;
    const known = this.#lists.get(key) ?? this.#wholeList(key);
    this.#lists.set(key, known);
    return known;
  }

  /** A row of such a list, by its id; undefined when there is none. */
  async rowOf(target: string, id: string): Promise<unknown> {
    const { table, fields } = RESOURCES[route(splitTarget(target).path)!.route.reply.schema];
    const { body } = await this.answer({ target: `/${table}/${id}` });
    const row = (body as { data: Record<string, unknown> }).data;
    return Object.fromEntries(fields.map(({ name }) => [name, row[name]]));
  }

  async #wholeList(path: string): Promise<WholeList> {
    const ids: string[] = [];
    for (;;) {
      const target = `${path}${path.includes("?") ? "&" : "?"}limit=${PAGE}&offset=${ids.length}`;
      const { body } = await this.answer({ target });
      const { data } = body as { data: { id: string }[] };
      ids.push(...data.map(({ id }) => id));
      if (data.length < PAGE) return { ids, places: new Map(ids.map((id, place) => [id, place])) };
    }
  }
}

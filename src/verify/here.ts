/** Answers of the snapshot, and the lists that they are pages of. */

import { createRouter } from "../api/router.ts";
import { ROUTES } from "../api/routes.ts";
import type { DirectDoor, DirectReply } from "../http/direct.ts";
import { BASE_PATH } from "../model/model.ts";
import { RESOURCES } from "../model/schema.ts";
import { splitTarget } from "../model/target.ts";
import type { Answer, Here, WholeList } from "./difference.ts";
import type { Probe } from "./plan.ts";

const PAGE = 50;
const route = createRouter(ROUTES, "");

function answerHere({ status, headers, body }: DirectReply): Answer {
  return { status, header: (name) => headers[name], body: body === "" ? undefined : JSON.parse(body) };
}

/** Asks a snapshot. @param token that it takes */
export function openHere(
  ask: DirectDoor,
  token: string,
): Here & { readonly answer: (probe: Probe) => Promise<Answer> } {
  const lists = new Map<string, Promise<WholeList>>();
  const answer = async ({ target, authorization = `Bearer ${token}` }: Probe): Promise<Answer> =>
    answerHere(await ask({ target: BASE_PATH + target, authorization: authorization ?? undefined }));

  async function wholeList(path: string): Promise<WholeList> {
    const ids: string[] = [];
    for (;;) {
      const { body } = await answer({
        target: `${path}${path.includes("?") ? "&" : "?"}limit=${PAGE}&offset=${ids.length}`,
      });
      const { data } = body as { data: { id: string }[] };
      ids.push(...data.map(({ id }) => id));
      if (data.length < PAGE) return { ids, places: new Map(ids.map((id, place) => [id, place])) };
    }
  }

  return {
    answer,
    listOf(target) {
      const [path = "", words] = target.split("?");
      const query = new URLSearchParams(words);
      query.delete("limit");
      query.delete("offset");
      const key = query.size === 0 ? path : `${path}?${query}`;
      const known = lists.get(key) ?? wholeList(key);
      lists.set(key, known);
      return known;
    },
    async rowOf(target, id) {
      const { table, fields } = RESOURCES[route(splitTarget(target).path)!.route.reply.schema];
      const { body } = await answer({ target: `/${table}/${id}` });
      const row = (body as { data: Record<string, unknown> }).data;
      return Object.fromEntries(fields.map(({ name }) => [name, row[name]]));
    },
  };
}

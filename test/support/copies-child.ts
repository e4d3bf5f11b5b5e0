/** Publishes a copy of a manifest in a cache folder shared with other processes, then removes the files that no copy uses. */

import { writeFileSync } from "node:fs";
import { snapshotOf } from "./copies.ts";

const [place = "", generation = ""] = process.argv.slice(2);
const { copies, sent, manifest, bring } = snapshotOf(place, generation);
await copies.publish(sent, manifest, bring);
writeFileSync(1, "published\n");

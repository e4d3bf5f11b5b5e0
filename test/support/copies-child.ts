/** A process that publishes a copy of a manifest in a cache folder that others have, too, and then removes what no copy has. */

import { writeFileSync } from "node:fs";
import { snapshotOf } from "./copies.ts";

const [place = "", generation = ""] = process.argv.slice(2);
const { copies, sent, manifest, bring } = snapshotOf(place, generation);
await copies.publish(sent, manifest, bring);
writeFileSync(1, "published\n");

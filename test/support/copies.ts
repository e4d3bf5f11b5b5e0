/** Snapshots to publish as copies, without a server. */

import { writeFileSync } from "node:fs";
import { MANIFEST } from "../../src/snapshot/files.ts";
import { type Manifest, parseManifest } from "../../src/snapshot/manifest.ts";
import { Problems } from "../../src/snapshot/problems.ts";
import { type Bring, Copies } from "../../src/sources/url/copies.ts";
import { type SentManifest, sha256Of } from "../../src/sources/url/download.ts";
import { snapshotFiles, user, withManifest } from "./folders.ts";

/** Arguments of {@link Copies.publish} for a snapshot with users of its own. */
export function snapshotOf(
  place: string,
  generation: string,
): {
  readonly copies: Copies;
  readonly files: ReadonlyMap<string, Buffer>;
  readonly sent: SentManifest;
  readonly manifest: Manifest;
  readonly bring: Bring;
} {
  const files = withManifest(
    snapshotFiles({ "users.ndjson": [user(1, { displayName: generation })] }),
    generation,
  );
  const bytes = files.get(MANIFEST)!;
  const manifest = parseManifest(bytes.toString(), new Problems())!;
  return {
    copies: new Copies(place, "http://a.example/"),
    files,
    sent: { bytes, sha256: sha256Of(bytes), etag: undefined },
    manifest,
    bring: async (name, _listed, path) => writeFileSync(path, files.get(name)!),
  };
}

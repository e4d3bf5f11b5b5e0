/** The token that the admin listener may ask for. */

import { createHash, timingSafeEqual } from "node:crypto";

/** Whether an `Authorization` header names the token. */
export type CheckToken = (authorization: string | undefined) => boolean;

const BEARER = /^bearer +/i;

function digestOf(text: string): Buffer {
  return createHash("sha256").update(text, "latin1").digest();
}

/** Makes a check that takes as long whatever it is given of a length. @param token visible ASCII */
export function createTokenCheck(token: string): CheckToken {
  const wanted = digestOf(token);
  return (authorization) => {
    const [scheme] = BEARER.exec(authorization ?? "") ?? [];
    if (scheme === undefined) return false;
    return timingSafeEqual(digestOf(authorization!.slice(scheme.length)), wanted);
  };
}

/** What a client says of encodings (RFC 9110, 12.5.3). */

const WEIGHT = /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/i;

/** The weight of one element; 1 when none is given, 0 when it makes no sense. */
function weightOf(parameter: string | undefined): number {
  if (parameter === undefined) return 1;
  const weight = WEIGHT.exec(parameter.trim());
  return weight === null ? 0 : Number(weight[1]);
}

/**
 * Whether gzip is to be sent: where it is acceptable, and not less welcome than no encoding.
 * @param header the value of `Accept-Encoding`, if there is one; without it nothing is encoded
 */
export function takesGzip(header: string | undefined): boolean {
  if (header === undefined) return false;
  const weights = new Map<string, number>();
  for (const element of header.split(",")) {
    const [coding = "", parameter] = element.split(";");
    const name = coding.trim().toLowerCase();
    // If an element is there twice, the first counts.
    if (!weights.has(name)) weights.set(name, weightOf(parameter));
  }
  const gzip = weights.get("gzip") ?? weights.get("x-gzip") ?? weights.get("*") ?? 0;
  return gzip > 0 && gzip >= (weights.get("identity") ?? 0);
}

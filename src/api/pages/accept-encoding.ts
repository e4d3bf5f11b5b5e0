/** Reads `Accept-Encoding` (RFC 9110, 12.5.3). */

const WEIGHT = /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/i;

/** The weight of one element; 1 when absent, 0 when malformed. */
function weightOf(parameter: string | undefined): number {
  if (parameter === undefined) return 1;
  const weight = WEIGHT.exec(parameter.trim());
  return weight === null ? 0 : Number(weight[1]);
}

/**
 * Whether to send gzip: if it is acceptable, and weighs no less than no encoding.
 * @param header the value of `Accept-Encoding`; without it nothing is encoded
 */
export function takesGzip(header: string | undefined): boolean {
  if (header === undefined) return false;
  const weights = new Map<string, number>();
  for (const element of header.split(",")) {
    const [coding = "", parameter] = element.split(";");
    const name = coding.trim().toLowerCase();
    // If an element comes twice, the first counts.
    if (!weights.has(name)) weights.set(name, weightOf(parameter));
  }
  const gzip = weights.get("gzip") ?? weights.get("x-gzip") ?? weights.get("*") ?? 0;
  return gzip > 0 && gzip >= (weights.get("identity") ?? 0);
}

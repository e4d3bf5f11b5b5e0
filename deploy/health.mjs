// Whether the server of this container answers: for HEALTHCHECK, in an image that has no other HTTP client. It has no
// token; that the server asks for one is an answer. A probe that ends with 0 found a healthy server.
const port = process.env.ORRERY_PORT ?? "8787";
try {
  const url = `http://127.0.0.1:${port}/api/public/v1/stats`;
  const { status } = await fetch(url, { signal: AbortSignal.timeout(2000) });
  process.exitCode = status === 401 ? 0 : 1;
} catch {
  process.exitCode = 1;
}

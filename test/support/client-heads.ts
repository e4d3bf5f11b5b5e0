/** Heads of requests as real clients send them: the client, its request line and its fields, a client a line. */

/** Recorded by a listening socket; only the port was changed. */
const RECORDED = `
curl 7.88 | GET /api/public/v1/worlds?limit=20&offset=40 HTTP/1.1 | Host: 127.0.0.1:8787 | User-Agent: curl/7.88.1 | Accept: */* | Authorization: Bearer svc_sk_example
curl 7.88 --head --compressed | HEAD /x HTTP/1.1 | Host: 127.0.0.1:8787 | User-Agent: curl/7.88.1 | Accept: */* | Accept-Encoding: deflate, gzip, br, zstd
curl 7.88 --http1.0 | GET / HTTP/1.0 | Host: 127.0.0.1:8787 | User-Agent: curl/7.88.1 | Accept: */*
curl 7.88 --http2 | GET / HTTP/1.1 | Host: 127.0.0.1:8787 | User-Agent: curl/7.88.1 | Accept: */* | Connection: Upgrade, HTTP2-Settings | Upgrade: h2c | HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA
curl 7.88 --request-target "*" | OPTIONS * HTTP/1.1 | Host: 127.0.0.1:8787 | User-Agent: curl/7.88.1 | Accept: */*
curl 7.88 --proxy | GET http://example.com/a HTTP/1.1 | Host: example.com | User-Agent: curl/7.88.1 | Accept: */* | Proxy-Connection: Keep-Alive
curl 7.88 --data "" | POST / HTTP/1.1 | Host: 127.0.0.1:8787 | User-Agent: curl/7.88.1 | Accept: */* | Content-Length: 0 | Content-Type: application/x-www-form-urlencoded
curl 7.88 --data-urlencode | GET /?q=caf+%c3%a9 HTTP/1.1 | Host: 127.0.0.1:8787 | User-Agent: curl/7.88.1 | Accept: */* | If-None-Match: "g"
curl 7.88 --upload-file | PUT /hostname HTTP/1.1 | Host: 127.0.0.1:8787 | User-Agent: curl/7.88.1 | Accept: */* | Content-Length: 3 | Expect: 100-continue
wrk 4.1 | GET /api/public/v1/worlds?limit=20&offset=40 HTTP/1.1 | Authorization: Bearer svc_sk_example | Host: 127.0.0.1:8787
ab 2.3 | GET /api/public/v1/worlds?limit=20&offset=40 HTTP/1.0 | Authorization: Bearer svc_sk_example | Host: 127.0.0.1:8787 | User-Agent: ApacheBench/2.3 | Accept: */*
ab 2.3 -k | GET / HTTP/1.0 | Connection: Keep-Alive | Host: 127.0.0.1:8787 | User-Agent: ApacheBench/2.3 | Accept: */*
ab 2.3 -i | HEAD / HTTP/1.0 | Host: 127.0.0.1:8787 | User-Agent: ApacheBench/2.3 | Accept: */*
autocannon 9 | GET /api/public/v1/worlds?limit=20&offset=40 HTTP/1.1 | Host: 127.0.0.1:8787 | Connection: keep-alive | Authorization:  Bearer svc_sk_example
hey 0.1 (Go's net/http) | GET /api/public/v1/worlds?limit=20&offset=40 HTTP/1.1 | Host: 127.0.0.1:8787 | User-Agent: hey/0.0.1 | Authorization: Bearer svc_sk_example | Content-Type: text/html | Accept-Encoding: gzip
fetch of Node 20 (undici) | GET /api/public/v1/worlds?limit=20&offset=40 HTTP/1.1 | host: 127.0.0.1:8787 | connection: keep-alive | authorization: Bearer svc_sk_example | accept: */* | accept-language: * | sec-fetch-mode: cors | user-agent: node | accept-encoding: gzip, deflate
http.get of Node 20 | GET /api/public/v1/worlds?limit=20&offset=40 HTTP/1.1 | authorization: Bearer svc_sk_example | Host: 127.0.0.1:8787 | Connection: keep-alive
http.get of Node 20, without an agent | GET /api/public/v1/worlds?limit=20&offset=40 HTTP/1.1 | Host: 127.0.0.1:8787 | Connection: close
fetch of Bun 1.4 | GET /api/public/v1/worlds?limit=20&offset=40 HTTP/1.1 | Authorization: Bearer svc_sk_example | Connection: keep-alive | User-Agent: Bun/1.4.5 | Accept: */* | Host: 127.0.0.1:8787 | Accept-Encoding: gzip, deflate, br, zstd
fetch of Deno 2.9 | GET /api/public/v1/worlds?limit=20&offset=40 HTTP/1.1 | authorization: Bearer svc_sk_example | accept: */* | accept-language: * | user-agent: Deno/2.9.6 | accept-encoding: gzip,br | host: 127.0.0.1:8787
http.client of Python 3.11 | GET /x HTTP/1.1 | Host: 127.0.0.1:8787 | Accept-Encoding: identity | Authorization: Bearer svc_sk_example
urllib of Python 3.11 | GET /api/public/v1/worlds?limit=20&offset=40 HTTP/1.1 | Accept-Encoding: identity | Host: 127.0.0.1:8787 | User-Agent: Python-urllib/3.11 | Authorization: Bearer svc_sk_example | Connection: close
requests 2.34 | GET /api/public/v1/worlds?limit=20&offset=40 HTTP/1.1 | Host: 127.0.0.1:8787 | User-Agent: python-requests/2.34.2 | Accept-Encoding: gzip, deflate | Accept: */* | Connection: keep-alive | Authorization: Bearer svc_sk_example
httpx 0.28 | GET /api/public/v1/worlds?limit=20&offset=40 HTTP/1.1 | Host: 127.0.0.1:8787 | Accept: */* | Accept-Encoding: gzip, deflate | Connection: keep-alive | User-Agent: python-httpx/0.28.1 | Authorization: Bearer svc_sk_example
aiohttp 3.14 | GET /api/public/v1/worlds?limit=20&offset=40 HTTP/1.1 | Host: 127.0.0.1:8787 | Authorization: Bearer svc_sk_example | Accept: */* | Accept-Encoding: gzip, deflate | User-Agent: Python/3.11 aiohttp/3.14.3
Chromium 156, a page | GET /docs HTTP/1.1 | Host: 127.0.0.1:8787 | Connection: keep-alive | sec-ch-ua: "Not:A-Brand";v="8", "Chromium";v="156" | sec-ch-ua-mobile: ?0 | sec-ch-ua-platform: "Linux" | Upgrade-Insecure-Requests: 1 | User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/156.0.0.0 Safari/537.36 | Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/jxl,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7 | Sec-Fetch-Site: none | Sec-Fetch-Mode: navigate | Sec-Fetch-User: ?1 | Sec-Fetch-Dest: document | Accept-Encoding: gzip, deflate, br, zstd | Accept-Language: en-US,en;q=0.9
Chromium 156, its icon | GET /favicon.ico HTTP/1.1 | Host: 127.0.0.1:8787 | Connection: keep-alive | sec-ch-ua-platform: "Linux" | User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/156.0.0.0 Safari/537.36 | sec-ch-ua: "Not:A-Brand";v="8", "Chromium";v="156" | sec-ch-ua-mobile: ?0 | Accept: image/jxl,image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8 | Sec-Fetch-Site: same-origin | Sec-Fetch-Mode: no-cors | Sec-Fetch-Dest: image | Referer: http://127.0.0.1:8787/docs | Accept-Encoding: gzip, deflate, br, zstd | Accept-Language: en-US,en;q=0.9
HAProxy, a check | GET /readyz HTTP/1.0
HAProxy, a check with HTTP/1.1 | GET /livez HTTP/1.1 | host: orrery | connection: close
nginx | GET /api/public/v1/worlds?limit=20&offset=40 HTTP/1.0 | Host: 127.0.0.1:8787 | Connection: close | User-Agent: curl/7.88.1 | Accept: */* | Authorization: Bearer svc_sk_example
nginx, with keep-alive | GET /k HTTP/1.1 | Host: 127.0.0.1 | X-Forwarded-For: 127.0.0.1 | X-Forwarded-Proto: http | User-Agent: curl/7.88.1 | Accept: */* | Authorization: Bearer svc_sk_example
HAProxy 2.6 | GET /api/public/v1/worlds?limit=20&offset=40 HTTP/1.1 | host: 127.0.0.1:8787 | user-agent: curl/7.88.1 | accept: */* | authorization: Bearer svc_sk_example | x-forwarded-for: 127.0.0.1
`;

/** Written by the clients' documents: these were not at hand. */
const WRITTEN = `
curl 8.5 | GET /api/public/v1/worlds?limit=20&offset=40 HTTP/1.1 | Host: 127.0.0.1:8787 | User-Agent: curl/8.5.0 | Accept: */* | Authorization: Bearer svc_sk_example
Go's net/http | GET /api/public/v1/worlds?limit=20&offset=40 HTTP/1.1 | Host: 127.0.0.1:8787 | User-Agent: Go-http-client/1.1 | Authorization: Bearer svc_sk_example | Accept-Encoding: gzip
k6 | GET /api/public/v1/worlds?limit=20&offset=40 HTTP/1.1 | Host: 127.0.0.1:8787 | User-Agent: k6/0.49.0 (https://k6.io/) | Authorization: Bearer svc_sk_example | Accept-Encoding: gzip
Firefox 128, a page | GET /docs HTTP/1.1 | Host: 127.0.0.1:8787 | User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0 | Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/png,image/svg+xml,*/*;q=0.8 | Accept-Language: en-US,en;q=0.5 | Accept-Encoding: gzip, deflate, br, zstd | Connection: keep-alive | Upgrade-Insecure-Requests: 1 | Sec-Fetch-Dest: document | Sec-Fetch-Mode: navigate | Sec-Fetch-Site: none | Sec-Fetch-User: ?1 | Priority: u=0, i
Firefox 128, a preflight | OPTIONS /api/public/v1/stats HTTP/1.1 | Host: 127.0.0.1:8787 | User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0 | Accept: */* | Accept-Language: en-US,en;q=0.5 | Accept-Encoding: gzip, deflate, br, zstd | Access-Control-Request-Method: GET | Access-Control-Request-Headers: authorization | Origin: http://127.0.0.1:3000 | Connection: keep-alive | Sec-Fetch-Dest: empty | Sec-Fetch-Mode: cors | Sec-Fetch-Site: same-site
the probe of Kubernetes | GET /api/public/v1/stats HTTP/1.1 | Host: 10.0.0.1:8787 | User-Agent: kube-probe/1.29 | Accept: */* | Connection: close
`;

/** The client and its bytes. */
export const CLIENT_HEADS: readonly (readonly [client: string, head: string])[] = (RECORDED + WRITTEN)
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => {
    const [client, ...lines] = line.split(" | ");
    return [client!, [...lines, "", ""].join("\r\n")];
  });

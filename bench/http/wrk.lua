-- Requests of wrk: those of a workload in turn, prepared once. Prints the results as one line of JSON.
local paths = {}
for line in io.lines(os.getenv("ORRERY_BENCH_PATHS")) do paths[#paths + 1] = line end
local each = os.getenv("ORRERY_BENCH_EACH")
local asks = {}
local number = tonumber(os.getenv("ORRERY_BENCH_FROM"))

function init()
  for at, path in ipairs(paths) do asks[at] = wrk.format("GET", path) end
end

function request()
  number = number + 1
  local ask = asks[number % #asks + 1]
  if each == "" then return ask end
  return (ask:gsub(each, tostring(number), 1))
end

function done(summary, latency)
  local failed = summary.errors
  io.write(string.format(
    '{"requests":%d,"us":%d,"refused":%d,"errors":%d,"timeouts":%d,"p50":%f,"p99":%f,"p999":%f}\n',
    summary.requests, summary.duration, failed.status, failed.connect + failed.read + failed.write, failed.timeout,
    latency:percentile(50), latency:percentile(99), latency:percentile(99.9)))
end

-- Sends the requests in a file in order, repeatedly, and prints the results as JSON. Each line contains the method,
-- target, API key and, optionally, the JSON body, separated by tabs. The optional second argument is the delay of each
-- connection before each request, in ms.
local prepared = {}
local next_index = 0

function init(args)
  for line in io.lines(args[1]) do
    local method, target, key, body = line:match('^(%S+)\t(%S+)\t(%S+)\t(.*)$')
    local headers = { ['Authorization'] = 'Bearer ' .. key }
    if body ~= '' then headers['Content-Type'] = 'application/json' end
    prepared[#prepared + 1] = wrk.format(method, target, headers, body ~= '' and body or nil)
  end
  local pause_ms = tonumber(args[2] or 0)
  -- Defined only if needed, because this function slows down wrk.
  if pause_ms > 0 then delay = function() return pause_ms end end
end

function request()
  next_index = next_index % #prepared + 1
  return prepared[next_index]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"seconds":%.6f,"refused":%d,"broken":%d,"p50Ms":%.4f,"p99Ms":%.4f}\n',
    summary.requests, summary.duration / 1e6, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end

-- Counts a failed authentication from an address, or only reads the count: `decideFailure` and `windowState` in
-- limits/limit.ts.
-- KEYS: window of the address, clock, version of callers
-- ARGV: limit, 1 to count or 0 to read, the required version of callers or "any", time (see `present`)
local kept_ms = 120000
if ARGV[3] ~= 'any' and version(redis.call('GET', KEYS[3])) ~= tonumber(ARGV[3]) then return replyKinds.stale end
local value = redis.call('GET', KEYS[1])
local now, shown_by = present(KEYS[2], redis.call('GET', KEYS[2]), 4)
local at, count = 0, 0
if value then at, count = struct.unpack('dd', value) end
at, count = rolled(at, count, minute_seconds, math.floor(now / 1000))
local refused = count >= tonumber(ARGV[1])
if ARGV[2] == '1' then
  if not refused then count = count + 1 end
  local lasts = (at + minute_seconds) * 1000 - now
  redis.call('SET', KEYS[1], struct.pack('dd', at, count), 'PX', text(math.max(lasts, 0) + kept_ms))
end
return { now + shown_by * 1000, at + shown_by, count, refused and 1 or 0 }

-- Returns a caller's usage and penalty. Counts nothing and opens no window.
-- KEYS: versions of the resources, usage of the account, penalty of the key, clock, strikes of the key
-- ARGV: time (see `present`)
-- The reply has the form of an admitted `take` with unchanged windows, followed by the number of strikes.
local clock_key, strikes_key = KEYS[#KEYS - 1], KEYS[#KEYS]
local values = redis.call('MGET', unpack(KEYS, 1, resources.count + 3))
local versions = versions_of(values)
local usage, penalty, clock = unpack(values, resources.count + 1, resources.count + 3)
if not usage then return { replyKinds.unknown, versions } end
local now, shown_by, ahead, epoch = present(clock_key, clock, 1)
local by_ms = shown_by * 1000
local minute_at, minute_count, day_at, day_count = usage_of(usage)
local from, till, banned, level = penalty_of(penalty)
local strikes = 0
for _, at in ipairs(redis.call('LRANGE', strikes_key, 0, -1)) do
  if tonumber(at) >= now - rules.within * 1000 and tonumber(at) <= now then strikes = strikes + 1 end
end
return {
  replyKinds.admitted, versions, now + by_ms, minute_at + shown_by, minute_count, day_at + shown_by, day_count,
  moved(from, by_ms), moved(till, by_ms), moved(banned, shown_by), level, ahead, epoch,
  strikes,
}

-- Returns a caller's usage and penalty without counting: no window opens.
-- KEYS: versions of the resources, usage of the account, penalty of the key, clock
-- ARGV: time (see `present`)
-- The reply is that of an admitting `take`, except that its windows are unchanged.
local values = redis.call('MGET', unpack(KEYS))
local versions = versions_of(values)
local usage, penalty, clock = unpack(values, resources.count + 1, resources.count + 3)
if not usage then return { kinds.unknown, versions } end
local now, shown_by, ahead, epoch = present(KEYS[#KEYS], clock, 1)
local by_ms = shown_by * 1000
local minute_at, minute_count, day_at, day_count = usage_of(usage)
local from, till, banned, level = penalty_of(penalty)
return {
  kinds.admitted, versions, now + by_ms, minute_at + shown_by, minute_count, day_at + shown_by, day_count,
  moved(from, by_ms), moved(till, by_ms), moved(banned, shown_by), level, ahead, epoch,
}

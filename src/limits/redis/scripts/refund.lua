-- Refunds an admitted request: `refund` in limits/limit.ts.
-- KEYS: usage of the account, clock
-- ARGV: start of the minute and of the day in which the request was counted, in Unix seconds; time (see `present`)
local value = redis.call('GET', KEYS[1])
local now, shown_by = present(KEYS[2], redis.call('GET', KEYS[2]), 3)
local second = math.floor(now / 1000)
local minute_at, minute_count, day_at, day_count = usage_of(value)
if minute_at == tonumber(ARGV[1]) - shown_by then minute_count = math.max(0, minute_count - 1) end
if day_at == tonumber(ARGV[2]) - shown_by then day_count = math.max(0, day_count - 1) end
if value then save_usage(KEYS[1], minute_at, minute_count, day_at, day_count, numbers_of(value), now) end
minute_at, minute_count = rolled(minute_at, minute_count, minute_seconds, second)
day_at, day_count = rolled(day_at, day_count, day_seconds, second)
return { now + shown_by * 1000, minute_at + shown_by, minute_count, day_at + shown_by, day_count }

-- Gives back what an admitted request took: `refund` of the law.
-- KEYS: usage of the account
-- ARGV: when the minute and the day it was counted in opened[, now]
local value = redis.call('GET', KEYS[1])
local now = now_ms(ARGV[3])
local minute, day = usage_of(value or '0 0 0 0')
if minute.at == tonumber(ARGV[1]) then minute.count = math.max(0, minute.count - 1) end
if day.at == tonumber(ARGV[2]) then day.count = math.max(0, day.count - 1) end
if value then save_usage(KEYS[1], minute, day, now) end
minute, day = rolled(minute, minute_seconds, now), rolled(day, day_seconds, now)
return { now, minute.at, minute.count, day.at, day.count }

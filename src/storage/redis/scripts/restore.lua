-- Adds what an instance knows of an account: a snapshot, or what it counted alone while Redis was away.
-- KEYS: usage of the account
-- ARGV: for the minute and for the day: when it opened, its count, and how much of that Redis was never told[, now]
local value = redis.call('GET', KEYS[1])
local now = now_ms(ARGV[7])
local minute, day = usage_of(value or '0 0 0 0')

local function restored(window, length, at, count, untold)
  if window.at + length <= at then return { at = at, count = count } end
  if window.at >= at + length then return window end
  -- Of windows that overlap the one in Redis stays, for clients were told when it ends.
  local known = window.at == at and math.max(window.count, count - untold) or window.count
  return { at = window.at, count = known + untold }
end

local function number(index)
  return tonumber(ARGV[index])
end

minute = restored(minute, minute_seconds, number(1), number(2), number(3))
day = restored(day, day_seconds, number(4), number(5), number(6))
save_usage(KEYS[1], minute, day, now)
return 1

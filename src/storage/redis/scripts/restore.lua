-- Adds what an instance knows of an account: a snapshot, or what it counted alone while Redis was away.
-- KEYS: usage of the account, clock
-- ARGV: for the minute and for the day: the date on which it opened, its count, and how much of that Redis was never
-- told; time (see `present`)
local now, shown_by = present(KEYS[2], redis.call('GET', KEYS[2]), 7)
local minute_at, minute_count, day_at, day_count = usage_of(redis.call('GET', KEYS[1]))

local function restored(old_at, old_count, length, first)
  local at = moved(tonumber(ARGV[first]), -shown_by)
  local count, untold = tonumber(ARGV[first + 1]), tonumber(ARGV[first + 2])
  if old_at + length <= at then return at, count end
  if old_at >= at + length then return old_at, old_count end
  -- Of windows that overlap the one in Redis stays, for clients were told when it ends.
  local known = old_at == at and math.max(old_count, count - untold) or old_count
  return old_at, known + untold
end

minute_at, minute_count = restored(minute_at, minute_count, minute_seconds, 1)
day_at, day_count = restored(day_at, day_count, day_seconds, 4)
save_usage(KEYS[1], minute_at, minute_count, day_at, day_count, now)
return 1

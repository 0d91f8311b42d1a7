-- Merges an account's state from an instance: a snapshot, or local counts from a Redis outage.
-- KEYS: usage of the account, clock
-- ARGV: for the minute and for the day: its start in Unix seconds, its count, the part of the count not yet reported to
-- Redis, and the numbers of reports that may have arrived, each with its count ("7:1,9:3"); name of the process and
-- number of this report, 0 without a report; time (see `present`)
local now, shown_by = present(KEYS[2], redis.call('GET', KEYS[2]), 11)
local value = redis.call('GET', KEYS[1])
local process, number = ARGV[9], tonumber(ARGV[10])
-- Keys of an account without state may be banned. The snapshot has to be restored first.
if not value and number > 0 then return 0 end
local minute_at, minute_count, day_at, day_count = usage_of(value)
local process_at, last = last_number(value, process)

-- Returns the part of the uncertain reports that Redis has already counted.
local function counted(doubtful)
  local sum = 0
  for one, count in string.gmatch(doubtful, '(%d+):(%d+)') do
    if tonumber(one) <= last then sum = sum + tonumber(count) end
  end
  return sum
end

local function restored(old_at, old_count, length, first)
  -- After the clock was set back, a window that was saved before would begin in the future and count until then.
  local at = math.min(moved(tonumber(ARGV[first]), -shown_by), math.floor(now / 1000))
  local count, unreported = tonumber(ARGV[first + 1]), tonumber(ARGV[first + 2])
  if old_at + length <= at then return at, count end
  if old_at >= at + length then return old_at, old_count end
  -- If windows overlap, the window in Redis is kept, because clients already know its end.
  local known = old_at == at and math.max(old_count, count - unreported) or old_count
  return old_at, known + unreported - counted(ARGV[first + 3])
end

local numbers = numbers_of(value)
if number > 0 then numbers = numbers_with(value, process_at, process, math.max(number, last)) end
minute_at, minute_count = restored(minute_at, minute_count, minute_seconds, 1)
day_at, day_count = restored(day_at, day_count, day_seconds, 5)
save_usage(KEYS[1], minute_at, minute_count, day_at, day_count, numbers, now)
return 1

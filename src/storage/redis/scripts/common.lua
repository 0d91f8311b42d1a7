-- The rules of limits as src/domain/limit.ts has it; the words are the same. Scripts change state and decide; what a
-- decision says to clients is made of their answer by src/domain/limit.ts. State is packed doubles, exact up to 2^53:
-- a script runs for microseconds, and half of them would go into reading and writing digits.
local minute_seconds = rules.minute
local day_seconds = rules.day
-- State that has run out is kept for a while yet: Redis forgets by its date, and that may be stepped.
local kept_ms = 3720000
-- Steady time and what an instance expected of it differ by less than this, unless the date was stepped.
local step_ms = 500
-- How often the latest instant is written down.
local noted_ms = 100

-- Unix microseconds of Redis' own clock.
local function micros()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end

-- A whole number, as it is: Lua would round it to 14 digits.
local function text(number)
  return string.format('%.0f', number)
end

-- A version as it is stored; 0 for one that Redis was not told or lost.
local function version(value)
  return tonumber(value or 0)
end

-- The versions of all resources, of values that begin with theirs; the first is that of callers.
local function versions_of(values)
  local versions = {}
  for index = 1, resources.count do versions[index] = version(values[index]) end
  return versions
end

-- The present in ms of steady time, the seconds to add to it to show it as a date, the ms that the date is ahead of it,
-- and the epoch, which names this count of time. Windows, strikes and bans last in steady time: Redis' date, less what
-- it was stepped by. A step is what the date moved by otherwise than an instance measured since it last heard of this
-- epoch, or back. `value` is what stands in the key of the clock; `first` is where in ARGV the time begins: the epoch the
-- instance heard of, the steady time it expects, and the date, if a test brings one.
local function present(key, value, first)
  local date = ARGV[first + 2] and tonumber(ARGV[first + 2]) or math.floor(micros() / 1000)
  local epoch, ahead, last
  if value then
    epoch, ahead, last = struct.unpack('ddd', value)
  else
    epoch, ahead, last = micros(), 0, 0
  end
  local now, expected = date - ahead, tonumber(ARGV[first + 1])
  if tonumber(ARGV[first]) == epoch and math.abs(expected - now) > step_ms then now = expected end
  if now < last then now = last end
  if date - now ~= ahead or now >= last + noted_ms then
    ahead = date - now
    redis.call('SET', key, struct.pack('ddd', epoch, ahead, now))
  end
  return now, math.ceil(ahead / 1000), ahead, epoch
end

-- An instant as a date, or a date as an instant; 0 is never.
local function moved(at, by)
  return at == 0 and 0 or at + by
end

-- A window as it stands in this second: when it opened, and its count.
local function rolled(at, count, length, second)
  if second >= at + length then return second, 0 end
  return at > second and second or at, count
end

-- When the minute opened, its count, when the day opened, its count.
local function usage_of(value)
  if not value then return 0, 0, 0, 0 end
  return struct.unpack('dddd', value)
end

-- Behind these four stands, for each of the processes that counted last, its name (8 bytes) and the number of the last
-- request it had counted: one that is sent late, or told again, counts once.
local usage_bytes, number_bytes, most_numbers = 32, 16, 8

-- Where the process stands, and the number of its last request.
local function last_number(value, process)
  local at = value and string.find(value, process, usage_bytes + 1, true)
  if not at then return nil, 0 end
  return at, (struct.unpack('d', value, at + #process))
end

local function numbers_of(value)
  return value and string.sub(value, usage_bytes + 1) or ''
end

-- The numbers with that of a process moved to the end; `at` is where it stands.
local function numbers_with(value, at, process, number)
  local others
  if at then
    others = string.sub(value, usage_bytes + 1, at - 1) .. string.sub(value, at + number_bytes)
  else
    others = numbers_of(value)
    if #others >= number_bytes * most_numbers then others = string.sub(others, number_bytes + 1) end
  end
  return others .. process .. struct.pack('d', number)
end

local function save_usage(key, minute_at, minute_count, day_at, day_count, numbers, now)
  local value = struct.pack('dddd', minute_at, minute_count, day_at, day_count) .. numbers
  local lasts = (day_at + day_seconds) * 1000 - now
  redis.call('SET', key, value, 'PX', text(math.max(lasts, 0) + kept_ms))
end

-- The first 429 of the episode and its end, in ms; the end of the ban, in seconds; its level.
local function penalty_of(value)
  if not value then return 0, 0, 0, 0 end
  return struct.unpack('dddd', value)
end

local function save_penalty(key, from, till, banned, level, now)
  if till == 0 and banned == 0 then return redis.call('DEL', key) end
  local matters = math.max(till, (banned + rules.forgiven_after) * 1000) - now
  local value = struct.pack('dddd', from, till, banned, level)
  redis.call('SET', key, value, 'PX', text(math.max(matters, 0) + kept_ms))
end

local function ban_seconds(level)
  return math.min(rules.first_ban * 2 ^ level, rules.longest_ban)
end

-- The key of the list of bans that PostgreSQL may lack: every instance saves them, for the one that decided may be gone.
local function unsaved_bans(bans_key)
  return bans_key .. ':unsaved'
end

-- `who` is "key:account".
local function list_ban(key, who, banned, level, now)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', text(math.floor(now / 1000)))
  redis.call('ZADD', key, text(banned), who .. ':' .. text(level))
end

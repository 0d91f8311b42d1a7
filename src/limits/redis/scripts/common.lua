-- The limit rules of src/limits/limit.ts, with the same names. Scripts make decisions and change state.
-- src/limits/limit.ts derives the response to clients from their reply. State is packed as doubles, which are exact up
-- to 2^53. A script runs for microseconds, and parsing and formatting digits would take half of that time.
local minute_seconds = rules.minute
local day_seconds = rules.day
-- Additional retention time of expired state, because Redis expires keys by its clock, which may be stepped.
local kept_ms = 3720000
-- Maximum difference between Redis' time and the time an instance expects. A larger difference is a clock step.
local step_ms = 500
-- Minimum interval between two writes of the clock.
local noted_ms = 100

-- Current time of Redis' clock in Unix microseconds.
local function micros()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end

-- Returns the id of this server's process, and the id of the history that it followed as a replica, or '' if it was none or
-- has forgotten it: a primary that became a replica and was promoted again may have lost changes. Returns nothing without
-- permission for INFO.
local function this_process()
  local info, replication = redis.pcall('INFO', 'server'), redis.pcall('INFO', 'replication')
  if type(info) ~= 'string' or type(replication) ~= 'string' then return end
  local former = string.match(replication, 'master_replid2:(%x+)') or ''
  return string.match(info, 'run_id:(%x+)'), string.gsub(former, '^0+$', '')
end

-- Formats an integer exactly, because Lua would round it to 14 digits.
local function text(number)
  return string.format('%.0f', number)
end

-- Parses a stored version; 0 if Redis never received it or lost it.
local function version(value)
  return tonumber(value or 0)
end

-- Returns the versions of all resources, which are the first of the values. The version of callers comes first.
local function versions_of(values)
  local versions = {}
  for index = 1, resources.count do versions[index] = version(values[index]) end
  return versions
end

-- Returns the monotonic time in ms, its offset from the clock in whole seconds (rounded up) and in ms, and the epoch.
-- Windows, strikes and bans are measured in monotonic time, which is the time of Redis' clock without clock steps. The
-- epoch identifies one continuous monotonic time: if Redis loses its data, a new epoch starts. The clock was stepped if
-- it moved back, or if it differs by more than `step_ms` from the time that the instance expects: the time of the last
-- reply in the same epoch, plus the time measured since then.
-- `value` is the stored clock. ARGV[first] is the epoch known to the instance, ARGV[first + 1] the monotonic time that
-- it expects, and ARGV[first + 2] the current time, in tests only.
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

-- Converts between monotonic time and the time of Redis' clock. 0 means never.
local function moved(at, by)
  return at == 0 and 0 or at + by
end

-- Returns the start and the count of the window that contains this second.
local function rolled(at, count, length, second)
  if second >= at + length then return second, 0 end
  return at > second and second or at, count
end

-- Returns the start and count of the minute, followed by those of the day.
local function usage_of(value)
  if not value then return 0, 0, 0, 0 end
  return struct.unpack('dddd', value)
end

-- The four doubles are followed by entries for the processes that most recently counted a request: the process name (8
-- bytes) and the number of its last counted request. A late or repeated request therefore counts only once.
local usage_bytes, number_bytes, most_numbers = 32, 16, 32

-- Returns the position of the entry of a process, and the number of its last request.
local function last_number(value, process)
  local at = value and string.find(value, process, usage_bytes + 1, true)
  if not at then return nil, 0 end
  return at, (struct.unpack('d', value, at + #process))
end

local function numbers_of(value)
  return value and string.sub(value, usage_bytes + 1) or ''
end

-- Returns the entries with the updated entry of a process at the end. `at` is its current position, or nil.
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

-- Returns the first 429 and the end of the episode, in ms; the end of the ban, in seconds; and its level.
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

-- Maximum step of the clock, in seconds, across which an unforgiven ban of a higher level is kept.
local small_step = 3600

-- Whether a saved ban begins more than `seconds` in the future, because the clock was set back after the ban was saved.
-- Defaults to a minute, by which the clocks of instances that cannot reach Redis may differ from Redis' clock.
local function begins_later(saved_end, saved_level, now, seconds)
  return saved_end - ban_seconds(saved_level) > now / 1000 + (seconds or 60)
end

-- Whether a saved ban is later than the key's last ban in Redis: it has a higher level, or began after the last ban was
-- forgiven. The end times alone are not sufficient, because the clock may have been stepped since the ban was saved.
local function is_later_ban(saved_end, saved_level, banned, level, now)
  if banned == 0 then return true end
  -- A ban of a higher level that begins soon was probably imposed before a small step of the clock, by an instance that
  -- could not reach Redis. One that begins much later was probably forgiven before a large step.
  if saved_level > level then return not begins_later(saved_end, saved_level, now, small_step) end
  local began = saved_end - ban_seconds(saved_level)
  return began >= banned + rules.forgiven_after and not begins_later(saved_end, saved_level, now)
end

-- Key of the list of bans that PostgreSQL may lack. Every instance saves them, because the instance that decided a ban
-- may have stopped before saving it.
local function unsaved_bans(bans_key)
  return bans_key .. ':unsaved'
end

-- Adds a ban to a list; `who` is "key:account".
local function list_ban(key, who, banned, level, now)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', text(math.floor(now / 1000)))
  redis.call('ZADD', key, text(banned), who .. ':' .. text(level))
  redis.call('PEXPIRE', key, text(rules.longest_ban * 1000 + kept_ms))
end

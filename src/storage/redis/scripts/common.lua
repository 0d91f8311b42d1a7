-- The law of limits as src/domain/limit.ts has it; the words are the same. Scripts change state and decide; what a
-- decision says to clients is made of their answer by the law itself.
local minute_seconds = 60
local day_seconds = 86400
local grace_ms = 1000
-- State that has run out is kept for a while yet, should the clock step back.
local kept_ms = 60000

-- Whole numbers up to 2^53, as they are: Lua would round them to 14 digits.
local function text(number)
  return string.format('%.0f', number)
end

-- Unix microseconds of Redis' own clock.
local function micros()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end

-- Unix milliseconds; a test brings its own.
local function now_ms(given)
  return given and tonumber(given) or math.floor(micros() / 1000)
end

-- A version that was never there before, even after Redis lost its memory: it begins at the clock's microseconds.
local function version(key, value)
  if value then return tonumber(value) end
  local first = micros()
  redis.call('SET', key, text(first))
  return first
end

local function rolled(window, length, now)
  local second = math.floor(now / 1000)
  if second >= window.at + length then return { at = second, count = 0 } end
  if window.at > second then return { at = second, count = window.count } end
  return window
end

local function usage_of(value)
  local minute_at, minute_count, day_at, day_count = string.match(value, '(%d+) (%d+) (%d+) (%d+)')
  return { at = tonumber(minute_at), count = tonumber(minute_count) },
    { at = tonumber(day_at), count = tonumber(day_count) }
end

local function save_usage(key, minute, day, now)
  local ends = math.max(minute.at + minute_seconds, day.at + day_seconds) * 1000
  local value = text(minute.at) .. ' ' .. text(minute.count) .. ' ' .. text(day.at) .. ' ' .. text(day.count)
  redis.call('SET', key, value, 'PX', text(math.max(ends - now, 0) + kept_ms))
end

local function conduct_of(value)
  if not value then return { from = 0, till = 0, banned = 0, level = 0 } end
  local from, till, banned, level = string.match(value, '(%d+) (%d+) (%d+) (%d+)')
  return { from = tonumber(from), till = tonumber(till), banned = tonumber(banned), level = tonumber(level) }
end

local function save_conduct(key, conduct, now)
  if conduct.till == 0 and conduct.banned == 0 then return redis.call('DEL', key) end
  local matters = math.max(conduct.till, (conduct.banned + rules.forgiven_after) * 1000) - now
  local value = text(conduct.from) .. ' ' .. text(conduct.till) .. ' ' .. text(conduct.banned)
  redis.call('SET', key, value .. ' ' .. text(conduct.level), 'PX', text(math.max(matters, 0) + kept_ms))
end

-- `who` is "key:account".
local function list_ban(key, who, conduct, now)
  -- Ended bans stay for an hour, should the clock step back.
  redis.call('ZREMRANGEBYSCORE', key, '-inf', text(math.floor(now / 1000) - 3600))
  redis.call('ZADD', key, text(conduct.banned), who .. ':' .. text(conduct.level))
end

-- Judges and counts one request: `judge` of the law.
-- KEYS: version of callers, version of pets, usage of the account, conduct of the key, strikes of the key, bans
-- ARGV: version the caller was read under, limit per minute, limit per day, "key:account"[, now]
local values = redis.call('MGET', KEYS[1], KEYS[2], KEYS[3], KEYS[4])
local callers, pets = version(KEYS[1], values[1]), version(KEYS[2], values[2])
if callers ~= tonumber(ARGV[1]) then return { kinds.stale, callers, pets } end
if not values[3] then return { kinds.unknown, callers, pets } end

local per_minute, per_day = tonumber(ARGV[2]), tonumber(ARGV[3])
local now = now_ms(ARGV[5])
local minute_before, day_before = usage_of(values[3])
local conduct = conduct_of(values[4])
local minute = rolled(minute_before, minute_seconds, now)
local day = rolled(day_before, day_seconds, now)

local function answer(kind)
  return { kind, callers, pets, now, minute.at, minute.count, day.at, day.count,
    conduct.from, conduct.till, conduct.banned, conduct.level }
end

local function ban()
  local second = math.floor(now / 1000)
  local repeated = conduct.banned > 0 and second < conduct.banned + rules.forgiven_after
  local level = repeated and conduct.level + 1 or 0
  local seconds = math.min(rules.first_ban * 2 ^ level, rules.longest_ban)
  conduct = { from = 0, till = 0, banned = second + seconds, level = level }
  redis.call('DEL', KEYS[5])
  save_conduct(KEYS[4], conduct, now)
  list_ban(KEYS[6], ARGV[4], conduct, now)
  return now < conduct.banned * 1000 and kinds.newly_banned or kinds.exhausted
end

local function strike()
  -- The list is in order, for none later than now is ever kept.
  local first = redis.call('LINDEX', KEYS[5], 0)
  while first and tonumber(first) < now - rules.within * 1000 do
    redis.call('LPOP', KEYS[5])
    first = redis.call('LINDEX', KEYS[5], 0)
  end
  local last = redis.call('LINDEX', KEYS[5], -1)
  while last and tonumber(last) > now do
    redis.call('RPOP', KEYS[5])
    last = redis.call('LINDEX', KEYS[5], -1)
  end
  if redis.call('LLEN', KEYS[5]) + 1 >= rules.strikes then return ban() end
  redis.call('RPUSH', KEYS[5], text(now))
  redis.call('PEXPIRE', KEYS[5], text(rules.within * 1000 + kept_ms))
  return kinds.exhausted
end

local function blame()
  if now >= conduct.till or now < conduct.from then
    local minute_left = math.max(0, per_minute - minute.count)
    local day_left = math.max(0, per_day - day.count)
    local minute_ends, day_ends = minute.at + minute_seconds, day.at + day_seconds
    local day_binds = day_left == 0 and (minute_left > 0 or day_ends >= minute_ends)
    local retry = math.max(1, math.ceil((day_binds and day_ends or minute_ends) - now / 1000))
    conduct.from, conduct.till = now, now + retry * 1000
    save_conduct(KEYS[4], conduct, now)
    return kinds.exhausted
  end
  if now < conduct.from + grace_ms then return kinds.exhausted end
  return strike()
end

if now < conduct.banned * 1000 then return answer(kinds.banned) end
if minute.count < per_minute and day.count < per_day then
  minute = { at = minute.at, count = minute.count + 1 }
  day = { at = day.at, count = day.count + 1 }
  save_usage(KEYS[3], minute, day, now)
  if conduct.till ~= 0 then
    conduct.from, conduct.till = 0, 0
    save_conduct(KEYS[4], conduct, now)
  end
  return answer(kinds.admitted)
end

local kind = blame()
-- Only counted requests open windows: what a refused one found closed stays as it was.
if minute ~= minute_before or day ~= day_before then
  local kept_minute = minute.count > 0 and minute or minute_before
  local kept_day = day.count > 0 and day or day_before
  save_usage(KEYS[3], kept_minute, kept_day, now)
end
return answer(kind)

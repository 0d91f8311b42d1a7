/** Slots, redirections and URLs of Redis Cluster, without a server. */
import { describe, expect, test } from 'bun:test';
import { parseRedisUrls } from '../../src/domain/redis-urls.ts';
import { parseRedirection } from '../../src/limits/redis/cluster/redirection.ts';
import { nodeUrl, parseSlotMap } from '../../src/limits/redis/cluster/slot-map.ts';
import { crc16, createShardTags, hashSlot } from '../../src/limits/redis/cluster/slots.ts';
import { RedisKeys } from '../../src/limits/redis/keys.ts';

describe('the slot of a key', () => {
  test('is the CRC16 of the key modulo 16384, as in the Redis Cluster specification', () => {
    expect(crc16('123456789')).toBe(0x31c3);
    expect(hashSlot('123456789')).toBe(0x31c3);
    expect(hashSlot('foo')).toBe(12_182);
  });

  test('is computed from the text in the first pair of braces, or from the whole key if there is none', () => {
    expect(hashSlot('as:{foo}:{bar}')).toBe(hashSlot('foo'));
    for (const key of ['as:{}:foo', 'as:{foo', 'as:}foo{']) expect(hashSlot(key)).toBe(crc16(key) % 16_384);
  });
});

describe('the shard keys', () => {
  test('map to one slot per shard, spread evenly across the slot range', () => {
    const slots = createShardTags().map((tag) => hashSlot(`as:{${tag}}:`));
    expect(slots.map((slot) => Math.floor(slot / (16_384 / 24)))).toEqual([...slots.keys()]);
  });

  test('map to the same slot if they belong to the same account', () => {
    const [tag = ''] = createShardTags();
    const keys = new RedisKeys(`as:store:{${tag}}:`);
    const names = [...keys.ofTake(7, 8), keys.unsavedBans, keys.failures('192.0.2.1')];
    expect(new Set(names.map(hashSlot)).size).toBe(1);
  });
});

describe('a Redis Cluster node', () => {
  const url = 'rediss://user:p%40ss@redis-1:6379';

  test.each([
    ['MOVED 3999 10.0.0.7:6381', 'moved', '10.0.0.7:6381'],
    ['MOVED 3999 redis-2.local:6381', 'moved', 'redis-2.local:6381'],
    ['ASK 3999 2001:db8::1:6381', 'ask', '[2001:db8::1]:6381'],
    ['MOVED 3999 :6381', 'moved', 'redis-1:6381'],
    ['MOVED 3999 ?:6381', 'moved', 'redis-1:6381'],
    ['TRYAGAIN Multiple keys request during rehashing of slot', 'again', ''],
  ])('redirects a command with the reply %s', (message, kind, address) => {
    expect(parseRedirection(new Error(message), url)).toMatchObject({ kind, address });
  });

  test.each(['CLUSTERDOWN The cluster is down', 'READONLY', 'MOVED to another city'])(
    'does not redirect a command with the reply %s',
    (message) => {
      expect(parseRedirection(new Error(message), url)).toBeUndefined();
    },
  );

  test('receives the credentials in REDIS_URL', () => {
    expect(nodeUrl('[2001:db8::1]:6381', url)).toBe('rediss://user:p%40ss@[2001:db8::1]:6381');
    expect(nodeUrl('h:1', 'redis://localhost')).toBe('redis://h:1');
  });

  test('serves the slots in its ranges, and slots outside all ranges have no node', () => {
    const reply = [
      [0, 99, ['10.0.0.1', 6379, 'id', {}], ['10.0.0.9', 6379]],
      [200, 200, [null, 6380, 'id']],
    ];
    const map = parseSlotMap(reply, url);
    expect([0, 99, 100, 200].map(map)).toEqual(['10.0.0.1:6379', '10.0.0.1:6379', undefined, 'redis-1:6380']);
    expect(() => parseSlotMap([], url)).toThrow('no node');
  });
});

describe('REDIS_URL', () => {
  test.each([
    ['redis://h', ['redis://h']],
    ['redis://h1,h2:6380', ['redis://h1', 'redis://h2:6380']],
    ['rediss://:p%40ss@h1:1,[::1]:2/', ['rediss://:p%40ss@h1:1/', 'rediss://:p%40ss@[::1]:2/']],
  ])('may contain one or more hosts: %s', (text, urls) => {
    expect(parseRedisUrls(text)).toEqual(urls as [string]);
  });

  test.each(['http://h', 'redis://', 'redis://h1,', 'redis://h1,,h2', 'redis://h:port'])(
    'is rejected if it is malformed: %s',
    (text) => {
      expect(() => parseRedisUrls(text)).toThrow();
    },
  );
});

/** An unexpected reply from Redis is treated as a failure of Redis, not as a decision about a request. */
import { expect, test } from 'bun:test';
import { describeWithServers } from '../support/describe-with-servers.ts';
import { until } from '../support/wait.ts';
import { caller, limitBench, take } from './limit-bench.ts';

/** Matches the start of Redis's reply for an accepted request. The first number is the decision. */
const decision = /\*1[13]\r\n:0\r\n/;

const replies: Readonly<Record<string, string>> = {
  'an unknown decision': '*11\r\n:7\r\n',
  'a decision that is not a number': '*11\r\n+0\r\n',
  'no decision': '*11\r\n_\r\n',
};

await describeWithServers('an unrecognized reply from Redis', (there) => {
  for (const [name, reply] of Object.entries(replies)) {
    test(`with ${name} is treated as a failure: the instance uses local counts, and tries Redis again later`, async () => {
      await using bench = await limitBench(there);
      await using instance = await bench.open();
      expect((await take(instance.store)).remaining).toBe(49);
      instance.redis.alterAnswers((answer) => Buffer.from(String(answer).replace(decision, reply)));
      const verdict = await take(instance.store);
      expect([verdict.errorCode, verdict.remaining]).toEqual([undefined, 48]);
      expect(instance.notices[0]).toBe('degraded: Redis unavailable: unrecognized reply to take');
      await instance.redis.heal();
      await until(() => instance.notices.includes('Redis available again'));
      expect((await take(instance.store)).remaining).toBe(47);
    });
  }

  test("about a key's limit status is ignored in favor of the instance's last known state", async () => {
    await using bench = await limitBench(there);
    await using instance = await bench.open();
    await take(instance.store);
    instance.redis.alterAnswers((answer) => Buffer.from(String(answer).replace(decision, '*13\r\n:7\r\n')));
    const { verdict } = await instance.store.limits.standing(caller);
    expect([verdict.errorCode, verdict.minute.remaining]).toEqual([undefined, 49]);
  });
});

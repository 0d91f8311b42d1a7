/** Unreachable replicas. Tests with real replicas are in test/faults/cluster-replicas.test.ts. */
import { afterEach, expect, mock, spyOn, test } from 'bun:test';
import { SharedVersions } from '../../src/domain/shared-versions.ts';
import { unusedReportedMs } from '../../src/storage/postgres/replicas/replica.ts';
import { Replicas } from '../../src/storage/postgres/replicas/replicas.ts';
import { openDatabase } from './postgres-kit.ts';

afterEach(() => mock.restore());

test('a replica that has not been used for a minute is reported as a problem', async () => {
  let nowMs = 1_000_000;
  spyOn(performance, 'now').mockImplementation(() => nowMs);
  const url = 'postgres://u:secret@127.0.0.1:1/none';
  await using database = openDatabase(url);
  const versions = new SharedVersions();
  await using replicas = new Replicas({
    ...{ urls: [`${url}?search_path=s`], poolSize: 1 },
    ...{ database, versions, notice: () => {} },
  });
  expect(replicas.isTroubled).toBe(false);
  nowMs += unusedReportedMs;
  expect(replicas.isTroubled).toBe(true);
  expect(replicas.facts).toEqual({
    primaryReads: 0,
    replica1: '127.0.0.1:1/none',
    replica1InUse: false,
    replica1LagSeconds: 0,
    replica1Reads: 0,
    replica1Trouble: 'it has not been queried yet',
  });
});

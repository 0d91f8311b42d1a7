/** What the generators lack for an operation of the contract, so that no operation goes unproven. */
import { allOperations, isRepeatable, type Operation } from '../../../src/contract/operations.ts';
import { Chance } from './chance.ts';
import { invalidRequest } from './mutations.ts';
import { anyMembers } from './request-of.ts';
import type { Known } from './requests.ts';
import { scenes } from './scenes.ts';

/** Enough for each mistake to be made with each operation that can have it. */
const generated = 20_000;

const nobody: Known = {
  key: `ask_${'x'.repeat(38)}`,
  poorKey: `ask_${'y'.repeat(38)}`,
  stored: 1,
  cursors: [],
};

/** What is still to be added, by operation, each as a sentence. */
export function missing(): Readonly<Record<string, string[]>> {
  const made = mistakesMade();
  return Object.fromEntries(
    allOperations.map((operation) => {
      const { operationId, body } = operation;
      const lacks = mistakesOf(operation)
        .filter((mistake) => !made.has(`${operationId} ${mistake}`))
        .map((mistake) => `operation-mutations.ts or change-mutations.ts: a request refused for ${mistake}`);
      if (!(operationId in scenes)) lacks.push('scenes.ts: requests of it that succeed');
      if (body !== undefined && !(operationId in anyMembers)) lacks.push('request-of.ts: its members');
      return [operationId, lacks];
    }),
  );
}

/** What has to be refused at least, as its row says: by the part that is wrong, or by the code. */
function mistakesOf(operation: Operation): string[] {
  const { body, query, params = {}, preconditions = [], scope } = operation;
  const { cursor, ...filters } = query?.shape ?? {};
  return [
    ...Object.keys(body?.schema.shape ?? {}).map((name) => `body:${name}`),
    ...Object.keys(filters).map((name) => `query:${name}`),
    ...(cursor === undefined ? [] : ['invalid_cursor']),
    ...Object.entries(params).map(([name, { otherwise }]) => otherwise ?? `path:${name}`),
    ...preconditions.map((name) => `header:${name}`),
    ...(isRepeatable(operation) ? ['header:Idempotency-Key'] : []),
    ...(scope === undefined ? [] : ['insufficient_scope']),
  ];
}

/** Each mistake that comes, behind the operation whose request has it. */
function mistakesMade(): ReadonlySet<string> {
  const routes = allOperations.map(({ operationId, method, path }) => {
    const pattern = new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`);
    return { operationId, method, path, pattern };
  });
  const made = new Set<string>();
  for (let index = 0; index < generated; index++) {
    const { method, target, code, faulty } = invalidRequest(new Chance(1, index), nobody);
    const path = target.replace(/\?.*$/s, '');
    const those = routes.filter((one) => one.method === method && one.pattern.test(path));
    const route = those.find((one) => one.path === path) ?? those[0];
    if (route === undefined) continue;
    made.add(`${route.operationId} ${code}`);
    if (faulty !== undefined) made.add(`${route.operationId} ${faulty}`);
  }
  return made;
}

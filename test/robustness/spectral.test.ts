/** Checks both OpenAPI documents with Spectral's rules for OpenAPI. */
import { expect, test } from 'bun:test';
import { type RulesetDefinition, Spectral } from '@stoplight/spectral-core';
import { oas } from '@stoplight/spectral-rulesets';
import { servedAdmin, servedClient } from '../contract/served.ts';

test.each([
  ['openapi.json', servedClient],
  ['admin-openapi.json', servedAdmin],
])("%s satisfies all of Spectral's OpenAPI rules", async (_, document) => {
  const spectral = new Spectral();
  spectral.setRuleset({ extends: [oas] } as RulesetDefinition);
  const problems = await spectral.run(document);
  expect(problems.map(({ code, message, path }) => ({ code, message, at: path.join('/') }))).toEqual([]);
});

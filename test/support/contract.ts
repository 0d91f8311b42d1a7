import document from '../../contract/openapi.json' with { type: 'json' };
import { type Checkable, Contract } from './contract-check.ts';

export type { Checkable };

const contract = new Contract({
  document,
  // Every response must have these headers (contract, sections 2 and 6).
  everywhere: ['X-Request-Id', 'X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'],
  ofNoOperation: (status) => ({
    'Cache-Control': status < 400 ? 'CacheControl' : 'NoStore',
    'X-Content-Type-Options': 'X-Content-Type-Options',
  }),
});

/** Throws an error that lists every deviation of the response from the contract. */
export function checkResponse(method: string, target: string, response: Checkable): void {
  contract.check(method, target, response);
}

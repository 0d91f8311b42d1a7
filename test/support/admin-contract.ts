import document from '../../contract/admin-openapi.json' with { type: 'json' };
import { adminHeaders } from '../../src/http/admin/reply.ts';
import { type Checkable, Contract } from './contract-check.ts';

const contract = new Contract({
  document,
  everywhere: ['X-Request-Id', ...Object.keys(adminHeaders)],
  undeclared: [...Object.keys(adminHeaders).map((name) => name.toLowerCase()), 'content-disposition'],
  ofNoOperation: () => ({ 'Cache-Control': 'Cache-Control' }),
});

/** Throws an error that lists every deviation of the response from the admin API's contract. */
export function checkAdminResponse(method: string, target: string, response: Checkable): void {
  contract.check(method, target, response);
}

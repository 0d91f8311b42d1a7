import { basePath } from '../contract/operations.ts';
import type { SandboxAccount } from './accounts.ts';
import { faultNames } from './fault.ts';
import { maxRequests } from './requests.ts';
import { idleMinutes } from './stores.ts';

export function indexText(url: string, accounts: readonly SandboxAccount[]): string {
  const keys = accounts.map(
    ({ plan, key, perMinute, account }) =>
      `  ${plan.padEnd(11)} ${key}  ${perMinute}/min, account ${account}`,
  );
  const faults = Object.values(faultNames).map(({ example, about }) => `  ${example.padEnd(26)} ${about}`);
  return `${[
    `Animal Store sandbox: the service at ${url}${basePath}, with faults on request. Its data is temporary.`,
    '',
    'Keys:',
    ...keys,
    '',
    'Faults, of one request by its header X-Sandbox, or of all by POST /sandbox/faults; joined with semicolons;',
    'those of webhooks only by POST /sandbox/faults:',
    ...faults,
    '',
    'Steering (JSON; errors as the API has them):',
    '  GET    /sandbox/faults        the active faults and their number of occurrences',
    '  POST   /sandbox/faults        {"faults": "status=503; rate=0.2", "account": 5}; a list of texts for several',
    '  DELETE /sandbox/faults        ends them; ?account=5 only those of one account',
    '  GET    /sandbox/clock         the time by which the service goes',
    '  POST   /sandbox/clock         {"advanceSeconds": 60} or {"to": "2030-12-05T00:00:00Z"}; only forward',
    '  GET    /sandbox/accounts      the accounts of the start, with their keys',
    '  POST   /sandbox/accounts      {"plan": "free"}: a new account with a key; also perMinute and perDay (enterprise),',
    '                                expiresInSeconds, scopes',
    `  POST   /sandbox/stores        an isolated store with a separate address, accounts, faults and clock; removed`,
    `                                ${idleMinutes} minutes after its last request`,
    '  DELETE /sandbox/stores/3      removes it',
    '  GET    /sandbox/stores        the isolated stores',
    `  GET    /sandbox/requests      the latest ${maxRequests} requests; ?account=5 those of one account`,
    '  DELETE /sandbox/requests      forgets them',
    '  POST   /sandbox/reset         everything as it was at the start',
    '',
    `Try it: curl -i -H 'Authorization: Bearer ${accounts[0]?.key}' -H 'X-Sandbox: status=503' ${url}${basePath}/pets`,
  ].join('\n')}\n`;
}

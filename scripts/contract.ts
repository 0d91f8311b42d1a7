/** Writes `contract/openapi.json`, the promise to clients, and `contract/admin-openapi.json`. The tests compare them with the code. */
import { adminContractText } from './openapi/admin-document.ts';
import { contractText } from './openapi/document.ts';

await Bun.write(new URL('../contract/openapi.json', import.meta.url), contractText());
await Bun.write(new URL('../contract/admin-openapi.json', import.meta.url), adminContractText());

/**
 * Generates files from the operations: the OpenAPI documents `contract/openapi.json` and `contract/admin-openapi.json`,
 * and the types of the TypeScript client. Tests check that these files match the code.
 */
import { generateClientTypes } from './client-types.ts';
import { generateAdminContract } from './openapi/admin-document.ts';
import { generateContract } from './openapi/document.ts';

const contract = generateContract();
await Bun.write(new URL('../contract/openapi.json', import.meta.url), contract);
await Bun.write(new URL('../client/src/contract.ts', import.meta.url), generateClientTypes(contract));
await Bun.write(new URL('../contract/admin-openapi.json', import.meta.url), generateAdminContract());

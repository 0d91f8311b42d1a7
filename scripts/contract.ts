/**
 * Generates files from the operations: the OpenAPI documents `contract/openapi.json` and `contract/admin-openapi.json`,
 * and the types of the TypeScript client. Tests check that these files match the code.
 */
import { clientTypesText } from './client-types.ts';
import { adminContractText } from './openapi/admin-document.ts';
import { contractText } from './openapi/document.ts';

const contract = contractText();
await Bun.write(new URL('../contract/openapi.json', import.meta.url), contract);
await Bun.write(new URL('../client/src/contract.ts', import.meta.url), clientTypesText(contract));
await Bun.write(new URL('../contract/admin-openapi.json', import.meta.url), adminContractText());

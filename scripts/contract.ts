/** Writes `contract/openapi.json`, the promise to clients. The tests compare it with what the code promises. */
import { contractText } from './openapi/document.ts';

await Bun.write(new URL('../contract/openapi.json', import.meta.url), contractText());

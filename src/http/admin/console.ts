import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { acceptsGzip } from '../pipeline/request-head.ts';
import type { HeaderFields } from '../pipeline/response-headers.ts';
import type { ConsoleFiles } from './console-files.ts';
import type { AdminPlainResponse } from './reply.ts';

interface ReadyFile {
  readonly headers: HeaderFields;
  readonly plain: Blob;
  readonly compressed: Blob;
}

type ReadyFiles = ReadonlyMap<string, ReadyFile>;

/** Serves the console's files, which are bundled on the first request. */
export class Console {
  readonly #make: () => Promise<ConsoleFiles>;
  #ready: Promise<ReadyFiles> | undefined;

  constructor(make: () => Promise<ConsoleFiles>) {
    this.#make = make;
  }

  /** Resolves with undefined for an unknown path. Rejects if the files cannot be bundled. */
  async respond(request: Request, path: string): Promise<AdminPlainResponse | undefined> {
    this.#ready ??= this.#makeReady();
    const file = (await this.#ready).get(path);
    if (file === undefined) return undefined;
    const { headers, plain, compressed } = file;
    return acceptsGzip(request)
      ? { status: 200, body: compressed, headers: { ...headers, 'Content-Encoding': 'gzip' } }
      : { status: 200, body: plain, headers };
  }

  async #makeReady(): Promise<ReadyFiles> {
    try {
      const files = await this.#make();
      const ready = [...files].map(async ([path, { type, body }]): Promise<[string, ReadyFile]> => {
        const bytes = await body.arrayBuffer();
        const compressed = new Blob([await promisify(gzip)(bytes, { level: 9 })]);
        return [path, { headers: fileHeaders(path, type), plain: new Blob([bytes]), compressed }];
      });
      return new Map(await Promise.all(ready));
    } catch (error) {
      // The next request bundles the files again.
      this.#ready = undefined;
      throw error;
    }
  }
}

function fileHeaders(path: string, type: string): HeaderFields {
  const isHashed = path.startsWith('/assets/');
  return {
    'Content-Type': type,
    Vary: 'Accept-Encoding',
    ...(isHashed && { 'Cache-Control': 'public, max-age=31536000, immutable' }),
  };
}

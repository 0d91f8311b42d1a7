import type { importOperations } from '../../contract/admin/imports.ts';
import { Refusal } from '../../contract/refusal.ts';
import { actorText } from '../../domain/actor.ts';
import type { HandlersOf } from '../admin/handlers.ts';
import { formats } from '../files/formats.ts';
import { spooled } from '../files/spooled.ts';
import type { ImportOperations } from './imports.ts';
import type { ImportList, ListedImport } from './list.ts';
import { previewOf } from './preview.ts';
import { ImportRun } from './run.ts';

interface Services {
  readonly imports: ImportOperations;
  readonly importList: ImportList;
  /** The folder in which uploaded files are stored during an import. */
  readonly uploadFolder: string;
}

export const importHandlers = {
  listImports: ({ importList }) => importList.list(),
  getImport: ({ importList }, { params }) => {
    const { view, report } = importList.find(params.importId);
    return { ...view, report };
  },
  stopImport: ({ importList }, { params }) => {
    const listed = importList.find(params.importId);
    listed.stop();
    return listed.view;
  },
  previewImport: (_services, { query: { format, newIds }, upload }, { signal }) =>
    previewOf(formats[format], newIds === 'true', upload, signal),
  importPets: async (
    { imports, importList, uploadFolder },
    { query, upload },
    { requestId, actor, signal },
  ) => {
    const { fileName = null, format, newIds } = query;
    const listed = importList.begin({ requestId, actor: actorText(actor), fileName, format });
    const stopped = AbortSignal.any([signal, listed.stopped]);
    try {
      await using file = await spooled(received(upload, listed), uploadFolder);
      const reader = formats[format].newReader({ newIds: newIds === 'true' });
      const run = new ImportRun(imports, { file, fileName: query.fileName, reader, signal: stopped });
      listed.run(() => run.progress);
      // Awaited here, because the file is deleted at the end of this block.
      const report = await run.report();
      listed.end(report);
      return report;
    } catch (error) {
      listed.fail(error, stopped.aborted);
      throw error;
    } finally {
      importList.prune();
    }
  },
} satisfies HandlersOf<Services, typeof importOperations>;

async function* received(
  upload: AsyncIterable<Uint8Array>,
  listed: ListedImport,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of upload) {
    if (listed.stopped.aborted) {
      throw new Refusal('import_invalid', {
        message: 'The import was stopped before the whole file was received.',
      });
    }
    listed.bytesReceived += chunk.length;
    yield chunk;
  }
}

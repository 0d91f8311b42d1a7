import type { FileContent } from '../../contract/operation.ts';
import type { AdminAnswer } from './replies.ts';

/** A file to be saved, never to be shown. Its name is one that the service gives. */
export function fileAnswer({ name, content }: FileContent): AdminAnswer {
  const headers = {
    'Content-Type': 'application/octet-stream',
    'Content-Disposition': `attachment; filename="${name}"`,
  };
  return { status: 200, body: content, headers };
}

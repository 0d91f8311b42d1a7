/** Downloads files with the session secret, which a plain link could not send. */
import { type AnyInput, fetchResponse, requestUrl } from './api.ts';

/** Calls an operation and saves its response as a file. Throws a `Failure`. */
export async function download(path: string, name: string, input: AnyInput = {}): Promise<void> {
  const response = await fetchResponse(requestUrl(path, input), { method: 'GET' });
  save(await response.blob(), name);
}

export function save(file: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

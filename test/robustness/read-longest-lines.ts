/**
 * Reads responses whose lines have the maximum length. This is a separate program, because a line that takes more than
 * linear time blocks the process. Prints the number of lines.
 */

import { parseRetryAfter } from '../../src/webhooks/attempt.ts';
import { ResponseReader } from '../../src/webhooks/response-reader.ts';

const length = 16_000;
/** Lines that take quadratic time take noticeably long only if there are this many. */
const repeats = 10;

const ok = 'HTTP/1.1 200 OK\r\n';
const chunked = `${ok}Transfer-Encoding: chunked\r\n\r\n`;
/** The text before the filler. */
const begins = {
  'status line': ['', 'HTTP/1.1', 'HTTP/1.1 ', 'HTTP/1.1 200', 'HTTP/1.1 200 '],
  name: [ok, `${ok}a`],
  value: [`${ok}a:`, `${ok}a:y`, `${ok}Retry-After:`, `${ok}Connection:`, `${ok}Content-Length:`],
  chunk: [chunked, `${chunked}0`, `${chunked}1;`],
  trailer: [`${chunked}0\r\n`, `${chunked}0\r\na:`, `${chunked}0\r\na:y`],
};
const fillers = [' ', '\t', '\r', '\x85', '\xa0', '\x00', 'a', '0', ':', ' \t', ' x', '\r ', 'close '];
const ends = ['', 'x', '\rx', ' '];

let lines = 0;
for (const begin of Object.values(begins).flat()) {
  for (const filler of fillers) {
    for (const end of ends) {
      const text = `${begin}${filler.repeat(length / filler.length)}${end}\r\n\r\n`;
      const bytes = Buffer.from(text, 'latin1');
      for (let repeat = 0; repeat < repeats; repeat++) {
        const reader = new ResponseReader();
        reader.read(bytes);
        parseRetryAfter(reader.reply?.retryAfter ?? '', 0);
      }
      lines++;
    }
  }
}
process.stdout.write(`read ${lines} lines\n`);

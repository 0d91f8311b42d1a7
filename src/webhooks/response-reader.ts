/** Reads an HTTP/1.1 response (RFC 9112) from a receiver, which may send anything. */

const maxBodyBytes = 1_024;
/** Maximum number of bytes other than the body: heads, interim responses, chunk sizes and trailers. */
const maxOtherBytes = 16_384;
const maxInterimResponses = 5;
/** Each read costs time, even if it returns one byte. */
const maxReads = 1_000;

const statusLine = /^HTTP\/1\.([01]) (\d{3})(?: |$)/;
const token = /^[\w!#$%&'*+.^`|~-]+$/;
/** A control character other than a tab. RFC 9112 section 2.2 forbids a CR within a line. */
const control = /[^\t -~\x80-\xff]/;
const chunkSize = /^([\da-f]+)[ \t]*(?:;|$)/i;
const switchingProtocols = 101;
const statusesWithoutBody = [switchingProtocols, 204, 304];
const newline = 0x0a;

export interface ReceivedResponse {
  readonly status: number;
  readonly retryAfter: string | undefined;
  /** The first 1,024 bytes of the body, as text. */
  readonly body: string;
}

/** A reader for one response. It stops at the end of the response, at a mistake, or at the first exceeded limit. */
export class ResponseReader {
  /** Whether no more bytes are read. */
  isDone = false;
  /** The reason why there is no reply. */
  problem = 'The response ended early.';
  /** Whether the connection can be used for another request. */
  isReusable = false;
  #status: number | undefined;
  /** The status of the head that is being read, which may be an interim response. */
  #begunStatus = 0;
  #headers = new Map<string, string>();
  #isPersistent = true;
  #interim = 0;
  #reads = 0;
  #otherBytes = 0;
  /** The beginning of a line whose end has not been read. */
  #begun: Buffer[] = [];
  readonly #body: Buffer[] = [];
  #bodyBytes = 0;
  /** Number of bytes until the end of the body, or of the current chunk. */
  #expected = 0;
  #readLine = this.#statusLine;

  get hasBegun(): boolean {
    return this.#reads > 0;
  }

  /** The response, once its head has been read. */
  get reply(): ReceivedResponse | undefined {
    if (this.#status === undefined) return undefined;
    // With `stream: true`, an incomplete character at the end is omitted.
    const body = new TextDecoder().decode(Buffer.concat(this.#body), { stream: true });
    return { status: this.#status, retryAfter: this.#headers.get('retry-after'), body };
  }

  read(bytes: Buffer): void {
    let rest = bytes;
    while (rest.length > 0 && !this.isDone) {
      rest = rest.subarray(this.#expected > 0 ? this.#readBody(rest) : this.#readOther(rest));
    }
    if (rest.length > 0) this.isReusable = false;
    if (++this.#reads >= maxReads) this.#stop('The response arrived in too many pieces.');
  }

  /** Returns the number of bytes read. */
  #readBody(bytes: Buffer): number {
    const part = bytes.subarray(0, Math.min(this.#expected, maxBodyBytes - this.#bodyBytes));
    this.#body.push(part);
    this.#bodyBytes += part.length;
    this.#expected -= part.length;
    if (this.#expected === 0 && this.#readLine !== this.#chunkEnd) this.#complete();
    else if (this.#bodyBytes === maxBodyBytes) this.#stop();
    return part.length;
  }

  /** Reads up to the end of a line. Returns the number of bytes read. */
  #readOther(bytes: Buffer): number {
    const available = bytes.subarray(0, maxOtherBytes - this.#otherBytes);
    const end = available.indexOf(newline);
    const part = end === -1 ? available : available.subarray(0, end + 1);
    this.#otherBytes += part.length;
    this.#begun.push(part);
    if (end !== -1) {
      const line = Buffer.concat(this.#begun)
        .toString('latin1')
        .replace(/\r?\n$/, '');
      this.#begun = [];
      this.#readLine(line);
    }
    if (this.#otherBytes === maxOtherBytes)
      this.#stop(`The response has more than ${maxOtherBytes} bytes in addition to its body.`);
    return part.length;
  }

  #statusLine(line: string): void {
    const [, minor, status] = statusLine.exec(line) ?? [];
    this.#begunStatus = Number(status);
    this.#headers = new Map();
    this.#isPersistent = minor === '1' && !control.test(line);
    this.#readLine = this.#header;
    if (status === undefined) this.#stop('The response is not HTTP/1.1.');
  }

  #header(line: string): void {
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(colon, 0)).toLowerCase();
    if (line === '') {
      this.#endHead(this.#begunStatus);
    } else if (!token.test(name) || control.test(line)) {
      this.#isPersistent = false;
    } else {
      const value = trimBlanks(line.slice(colon + 1));
      const former = this.#headers.get(name);
      this.#headers.set(name, former === undefined ? value : `${former}, ${value}`);
    }
  }

  #endHead(status: number): void {
    if (status >= 200 || status === switchingProtocols) {
      this.#status = status;
      this.#beginBody(status);
    } else if (++this.#interim > maxInterimResponses) {
      this.#stop(`The receiver sent more than ${maxInterimResponses} interim responses.`);
    } else {
      this.#readLine = this.#statusLine;
    }
  }

  #beginBody(status: number): void {
    const length = this.#headers.get('content-length');
    const coding = this.#headers.get('transfer-encoding');
    const isAmbiguous = length !== undefined && coding !== undefined;
    const closes = /\bclose\b/i.test(this.#headers.get('connection') ?? '');
    if (isAmbiguous || closes || status === switchingProtocols) this.#isPersistent = false;
    if (statusesWithoutBody.includes(status)) this.#complete();
    else if (coding?.toLowerCase() === 'chunked') this.#readLine = this.#chunkSize;
    else this.#expectBody(coding === undefined ? length : undefined);
  }

  /** Without a valid length, the body ends when the connection is closed. */
  #expectBody(length: string | undefined): void {
    this.#expected = /^\d{1,15}$/.test(length ?? '') ? Number(length) : Number.POSITIVE_INFINITY;
    if (this.#expected === 0) this.#complete();
  }

  #chunkSize(line: string): void {
    const [, size] = chunkSize.exec(line) ?? [];
    if (size === undefined) this.#stop();
    this.#expected = Number.parseInt(size ?? '0', 16);
    this.#readLine = this.#expected === 0 ? this.#trailer : this.#chunkEnd;
  }

  #chunkEnd(line: string): void {
    if (line !== '') this.#stop();
    this.#readLine = this.#chunkSize;
  }

  #trailer(line: string): void {
    if (control.test(line)) this.#isPersistent = false;
    if (line === '') this.#complete();
  }

  #complete(): void {
    this.isReusable = this.#isPersistent;
    this.#stop();
  }

  /** The problem matters only if the head is incomplete. */
  #stop(problem?: string): void {
    this.isDone = true;
    if (problem !== undefined) this.problem = problem;
  }
}

/**
 * Removes spaces and tabs at both ends, in linear time. A regular expression that matches them at the end takes quadratic
 * time, and `trim` removes other characters.
 */
function trimBlanks(text: string): string {
  const isBlank = (at: number) => text[at] === ' ' || text[at] === '\t';
  let [start, end] = [0, text.length];
  while (start < end && isBlank(start)) start++;
  while (start < end && isBlank(end - 1)) end--;
  return text.slice(start, end);
}

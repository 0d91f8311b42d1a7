/** The contents of a sound backup, as recorded when it was made and as found by a verification. */
export interface BackupFacts {
  /** Unix ms of its beginning: everything acknowledged before is in it. */
  readonly createdAt: number;
  readonly madeBy: string;
  /** Format of the store in it, and the newest that this version can serve. */
  readonly format: number;
  readonly newestFormat: number;
  readonly counts: Readonly<Record<string, number>>;
  /** Of the limit state; 0 when the store had none. */
  readonly limitBytes: number;
  readonly bytes: number;
}

export interface StoreContents extends Pick<BackupFacts, 'format' | 'newestFormat' | 'counts'> {
  /** Of the data file; `null` for a store on a server. */
  readonly bytes: number | null;
}

export type Verified =
  | ({ readonly kind: 'backup' } & BackupFacts)
  | ({ readonly kind: 'store' } & StoreContents);

export type BackupFault = 'missing' | 'damaged' | 'foreign' | 'exists' | 'space' | 'failed';

/** A file cannot be made, verified or restored; `message` says why and what to do. */
export class BackupError extends Error {
  readonly fault: BackupFault;
  constructor(fault: BackupFault, message: string, cause?: unknown) {
    super(message, { cause });
    this.fault = fault;
  }
}

export interface VerifyOptions {
  /** Aborts it and removes its file. */
  readonly signal?: AbortSignal | undefined;
  /** Bytes written or read, and bytes in all as far as they can be told in advance. */
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
}

export interface MakeOptions extends VerifyOptions {
  readonly replace: boolean;
  readonly now: number;
}

/** Makes and verifies backups in other processes, so that this one is not blocked. Both reject with `BackupError`. */
export interface BackupMaker {
  /** The file appears under its name when it is whole and durable. */
  make(path: string, options: MakeOptions): Promise<BackupFacts>;
  verify(path: string, options?: VerifyOptions): Promise<Verified>;
}

export interface NamedFile {
  readonly name: string;
  readonly bytes: number;
  /** As its name has it, Unix ms to the second. */
  readonly createdAt: number;
  readonly label: string | null;
  readonly verified: VerificationResult | null;
}

export interface VerificationResult {
  readonly at: number;
  readonly isSound: boolean;
  readonly message: string | null;
  readonly counts: Readonly<Record<string, number>> | null;
}

export interface BackupFolder {
  readonly path: string;
  list(): Promise<NamedFile[]>;
  /** The file of a name that `list` could have; undefined for any other. */
  pathOf(name: string): string | undefined;
  nameAt(now: number, label: string | null): string;
  noteVerified(name: string, result: VerificationResult): Promise<void>;
  /** Creates the folder if it is missing, and removes what a killed service left in it. */
  make(): Promise<void>;
  /** Removes all scheduled ones but the latest `keep`, of which `latest` is one; resolves with the names of those removed. */
  prune(keep: number, latest: string): Promise<string[]>;
}

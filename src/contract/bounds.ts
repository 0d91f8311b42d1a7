export const maxBodyBytes = 16_384;

/** Largest body of a sign-in, in bytes: anybody may send one, and reading many invalid members takes time. */
export const maxSignInBytes = 1_024;

export const maxUploadBytes = 1_073_741_824;

export const maxPreviewBytes = 65_536;

/** How many mistakes an error lists: a request of 16 KiB can hold thousands, each worth a line of the answer. */
export const maxDetails = 20;
/** UTF-16 code units of a name that an error repeats. A longer one is cut. */
export const maxNameLength = 64;

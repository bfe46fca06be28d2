"""The exceptions users of the tool may meet. Each has a numeric `code`; `str()` gives a prefix and the details."""


class CodedException(Exception):
    err_strs = {}

    def __init__(self, code, error_info=""):
        super().__init__()
        self.code = code
        self.error_info = self.err_strs.get(code, "[msprobe] ") + error_info

    def __str__(self):
        return self.error_info


class MsprobeException(CodedException, ValueError):
    """Wrong configuration or use. Also a ValueError, which older scripts catch."""

    INVALID_PARAM_ERROR = 0
    OVERFLOW_NUMS_ERROR = 1
    RECURSION_LIMIT_ERROR = 2
    INTERFACE_USAGE_ERROR = 3
    UNSUPPORTED_TYPE_ERROR = 4
    INVALID_CHAR_ERROR = 5

    err_strs = {
        INVALID_PARAM_ERROR: "[msprobe] Invalid parameter: ",
        OVERFLOW_NUMS_ERROR: "[msprobe] Overflow limit reached: ",
        RECURSION_LIMIT_ERROR: "[msprobe] Nesting too deep: ",
        INTERFACE_USAGE_ERROR: "[msprobe] Wrong use of an interface: ",
        UNSUPPORTED_TYPE_ERROR: "[msprobe] Unsupported: ",
        INVALID_CHAR_ERROR: "[msprobe] Invalid character: ",
    }


class FileCheckException(CodedException):
    """A file or folder cannot be used."""

    INVALID_FILE_ERROR = 0
    FILE_PERMISSION_ERROR = 1
    SOFT_LINK_ERROR = 2
    ILLEGAL_PATH_ERROR = 3
    ILLEGAL_PARAM_ERROR = 4
    FILE_TOO_LARGE_ERROR = 5

    err_strs = {
        INVALID_FILE_ERROR: "[msprobe] Invalid file: ",
        FILE_PERMISSION_ERROR: "[msprobe] File permission: ",
        SOFT_LINK_ERROR: "[msprobe] Symbolic link: ",
        ILLEGAL_PATH_ERROR: "[msprobe] Illegal path: ",
        ILLEGAL_PARAM_ERROR: "[msprobe] Illegal parameter: ",
        FILE_TOO_LARGE_ERROR: "[msprobe] File too large: ",
    }


class ParseJsonException(CodedException):
    UnexpectedNameStruct = 0
    InvalidDumpJson = 1

    err_strs = {
        UnexpectedNameStruct: "[msprobe] Unexpected name: ",
        InvalidDumpJson: "[msprobe] Invalid dump.json: ",
    }


class ScopeException(CodedException):
    InvalidApiStr = 0
    InvalidScope = 1
    ArgConflict = 2

    err_strs = {
        InvalidApiStr: "[msprobe] Invalid API name: ",
        InvalidScope: "[msprobe] Invalid scope: ",
        ArgConflict: "[msprobe] Conflicting arguments: ",
    }


class FreeBenchmarkException(CodedException):
    UnsupportedType = 0
    InvalidGrad = 1

    err_strs = {
        UnsupportedType: "[msprobe] Unsupported type: ",
        InvalidGrad: "[msprobe] Invalid gradient: ",
    }


class ApiAccuracyCheckerException(CodedException):
    ParseJsonFailed = 0
    UnsupportType = 1
    WrongValue = 2
    ApiWrong = 3

    err_strs = {
        ParseJsonFailed: "[msprobe] Invalid JSON: ",
        UnsupportType: "[msprobe] Unsupported type: ",
        WrongValue: "[msprobe] Wrong value: ",
        ApiWrong: "[msprobe] Wrong API: ",
    }


class DistributedNotInitializedError(Exception):
    def __init__(self, msg):
        super().__init__()
        self.msg = msg

    def __str__(self):
        return self.msg


# The kinds of error of the core, src/base/result.h, in order.
_BY_CORE_CODE = (
    (MsprobeException, MsprobeException.INTERFACE_USAGE_ERROR),  # kUsage
    (MsprobeException, MsprobeException.INVALID_PARAM_ERROR),  # kInput
    (FileCheckException, FileCheckException.INVALID_FILE_ERROR),  # kOutput
    (MsprobeException, MsprobeException.UNSUPPORTED_TYPE_ERROR),  # kDevice
    (FileCheckException, FileCheckException.FILE_PERMISSION_ERROR),  # kPermission
    (MsprobeException, MsprobeException.UNSUPPORTED_TYPE_ERROR),  # kUnsupported
    (MsprobeException, MsprobeException.INTERFACE_USAGE_ERROR),  # kInternal
)


def raise_error(core_code, message):
    """Called by the extension for a failed result."""
    kind, code = _BY_CORE_CODE[core_code]
    raise kind(code, message)

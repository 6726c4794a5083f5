"""What lies between a message as a program wrote it and the line that a reader has.

Terminals colour it, log collectors wrap it into JSON, web pages and word processors replace its quotes, and the C
library, the loader, compilers and shells speak the language of the locale.
"""

from __future__ import annotations

import functools
import re

from remedy.hints import Any, Final

#: A line longer than this is cut: no known message needs more, and a regex must not meet a megabyte.
LONGEST: Final = 4000

#: The English of what is said in German, French, Spanish, Italian, Portuguese, Chinese, Japanese, Russian and Korean:
#: glibc's errno texts and loader (glibc, po/), gcc, binutils' ld and bash (their po/ folders).
_ENGLISH: Final[dict[str, tuple[str, ...]]] = {
    "No such file or directory": (
        "Datei oder Verzeichnis nicht gefunden", "Aucun fichier ou dossier de ce type",
        "No existe el archivo o el directorio", "No existe el fichero o el directorio",
        "File o directory non esistente", "Arquivo ou diretório inexistente",
        "Ficheiro ou directoria inexistente", "没有那个文件或目录", "そのようなファイルやディレクトリはありません",
        "Нет такого файла или каталога", "그런 파일이나 디렉터리가 없습니다",
    ),
    "Permission denied": (
        "Keine Berechtigung", "Permission non accordée", "Permiso denegado", "Permesso negato", "Permissão negada",
        "权限不够", "許可がありません", "Отказано в доступе", "허가 거부",
    ),
    "Read-only file system": (
        "Das Dateisystem ist nur lesbar", "Système de fichiers accessible en lecture seulement",
        "Sistema de ficheros de sólo lectura", "Sistema de archivos de sólo lectura", "File system in sola lettura",
        "Sistema de arquivos somente para leitura", "只读文件系统", "读入文件系统", "読み込み専用ファイルシステムです",
        "Файловая система доступна только для чтения", "읽기전용 파일 시스템",
    ),
    "No space left on device": (
        "Auf dem Gerät ist kein Speicherplatz mehr verfügbar", "Aucun espace disponible sur le périphérique",
        "No queda espacio en el dispositivo", "Spazio esaurito sul device", "Não há espaço disponível no dispositivo",
        "设备上没有空间", "デバイスに空き領域がありません", "На устройстве не осталось свободного места",
        "장치에 남은 공간이 없음",
    ),
    "Address already in use": (
        "Die Adresse wird bereits verwendet", "Adresse déjà utilisée", "La dirección ya se está usando",
        "Indirizzo già in uso", "Endereço já em uso", "地址已在使用", "アドレスは既に使用中です",
        "Адрес уже используется", "주소가 이미 사용 중입니다",
    ),
    "Cannot allocate memory": (
        "Nicht genügend Hauptspeicher verfügbar", "Ne peut allouer de la mémoire", "Impossible d'allouer de la mémoire",
        "No se pudo asignar memoria", "Impossibile allocare memoria", "Não foi possível alocar memória", "无法分配内存",
        "メモリを確保できません", "Не удаётся выделить память", "Невозможно выделить память",
        "메모리를 할당할 수 없습니다",
    ),
    "cannot open shared object file": (
        "Kann die Shared-Object-Datei nicht öffnen", "Ne peut ouvrir le fichier d'objet partagé",
        "impossible d'ouvrir le fichier d'objet partagé", "no se puede abrir el archivo del objeto compartido",
        "no se puede abrir el fichero del objeto compartido", "impossibile aprire il file oggetto condiviso",
        "não foi possível abrir arquivo compartilhado", "无法打开共享对象文件", "无法打开共享目标文件",
        "共有オブジェクトファイルを開けません", "не удаётся открыть разделяемый объектный файл",
        "невозможно открыть разделяемый объектный файл", "공유 오브젝트 파일을 열 수 없습니다",
    ),
    "command not found": (
        "Kommando nicht gefunden", "Befehl nicht gefunden", "commande introuvable", "orden no encontrada",
        "comando non trovato", "comando não encontrado", "未找到命令", "コマンドが見つかりません", "команда не найдена",
        "명령어를 찾을 수 없음", "명령을 찾을 수 없음", "指令找不到",
    ),
    # French and Chinese put their own blank and colon behind the program's name
    ": command not found": (" : commande introuvable", "：未找到命令", "：指令找不到"),
    # what bash says where, of a script or of the command that a program gave it
    "sh: line ": (
        "sh: Zeile ", "sh: ligne ", "sh: línea ", "sh: riga ", "sh: linha ", "sh: 行 ", "sh:行 ", "sh: 列 ",
        "sh: строка ", "sh: 줄 ", "sh:行", "sh: 第 ", "sh:第 ",
    ),
    # Chinese has the number in the midst, and its own colons
    ": ": (" 行： ", " 列： ", " 行：", " 列：", " 行: ", " 列: "),
    ": No such file or directory": ("：没有那个文件或目录",),
    ": Permission denied": ("：权限不够",),
    "fatal error: ": (
        "schwerwiegender Fehler: ", "erreur fatale : ", "erreur fatale\xa0: ", "error fatal: ", "errore fatale: ",
        "erro fatal: ", "致命错误：", "致命的エラー: ", "фатальная ошибка: ", "치명적 오류: ",
    ),
    "Killed": (
        "Getötet", "Processus arrêté", "Terminado (killed)", "Ucciso", "Morto", "已杀死", "強制終了", "Убито", "죽었음",
    ),
}  # fmt: skip
_OF: Final = {said: english for english, every in _ENGLISH.items() for said in every}

#: What tells that a line is in another language; the scanner looks for these with its other words.
FOREIGN: Final = tuple(_OF)

# Typographic quotes and blanks, and what has no width.
_TYPOGRAPHY: Final = str.maketrans(
    {**dict.fromkeys("\u2018\u2019\u201a\u2032\u00b4", "'"), **dict.fromkeys("\u201c\u201d\u201e\u2033", '"')}
    | {**dict.fromkeys("\u00a0\u202f\u2007", " "), **dict.fromkeys("\ufeff\u200b\u200c\u200d\u2060", "")}
)
_ENTITIES: Final = (
    ("&#39;", "'"), ("&#x27;", "'"), ("&apos;", "'"), ("&quot;", '"'), ("&lt;", "<"), ("&gt;", ">"), ("&nbsp;", " "),
    ("&amp;", "&"),
)  # fmt: skip
#: The fields in which journalctl -o json, docker, container runtimes and loggers keep a message.
_MESSAGE_KEYS: Final = ("MESSAGE", "log", "message", "msg", "event")


@functools.cache
def _ansi() -> re.Pattern[str]:
    return re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])|\x00")


def plain(text: str) -> str:
    """Without terminal control sequences, carriage-return progress (the last frame stays), entities of HTML and
    typographic quotes."""
    if "\x1b" in text or "\x00" in text:
        text = _ansi().sub("", text)
    text = text.rstrip("\r\n")
    if "\r" in text:
        text = text.rsplit("\r", 1)[1]
    text = text[:LONGEST]
    if not text.isascii():
        text = text.translate(_TYPOGRAPHY)
    if "&" in text and ";" in text:
        for entity, meant in _ENTITIES:
            text = text.replace(entity, meant)
    return text


def in_english(text: str, foreign: list[str]) -> str:
    """The text with these phrases of other languages put into English."""
    for said in sorted(foreign, key=len, reverse=True):
        text = text.replace(said, _OF[said])
    return text


def messages(text: str) -> list[str]:
    """The lines of the message in a JSON record, or the text itself where it is none."""
    start = text.find('{"')
    if start < 0 or start > 120 or not text.rstrip().endswith("}"):
        return [text]
    message = _message(text[start:].rstrip())
    return [part[:LONGEST] for part in message.split("\n") if part.strip()] if message else [text]


def _message(record: str) -> str:
    if not any(f'"{key}"' in record for key in _MESSAGE_KEYS):
        return ""
    import json

    try:
        found: Any = json.loads(record)
    except ValueError:
        return ""
    value = next((found[key] for key in _MESSAGE_KEYS if found.get(key)), "") if isinstance(found, dict) else ""
    if isinstance(value, list) and all(isinstance(byte, int) and 0 <= byte < 256 for byte in value):
        # journalctl writes what is no UTF-8 as a list of bytes (systemd's JSON export format)
        value = bytes(value).decode("utf-8", "replace")
    return _levelled(found.get("level"), value) if isinstance(value, str) else ""


def _levelled(level: object, value: str) -> str:
    """The message behind its level, as other logs have it, where the record says that it is no error."""
    word = level.upper() if isinstance(level, str) else ""
    return f"{word}: {value}" if value and word in ("DEBUG", "INFO", "WARN", "WARNING") else value

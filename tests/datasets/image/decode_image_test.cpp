#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/datasets/image/decode_image.h>
#include <nyala/tests/datasets/image/picture_files.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala {
namespace {

using datasets::Bytes;

constexpr const char* kPictures[] = {"rgb.png",         "rgba.png", "grey.png",    "grey_alpha.png",
                                     "palette.png",     "deep.png", "bits.png",    "one_pixel.png",
                                     "halved.jpg",      "full.jpg", "cmyk.jpg",    "grey.jpg",
                                     "progressive.jpg", "rgb.bmp",  "palette.bmp", "frames.gif"};

std::string failure(const Bytes& bytes, const DecodeImageConfig& config = {.name = "x.jpg"}) {
  return error_text<FileFormatError>([&] { decode_image(bytes, config); });
}

void put_big(Bytes& bytes, size_t at, uint32_t value) {
  for (size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<uint8_t>(value >> (24 - 8 * i));
}

/// A PNG of a header that promises `width` x `height` and one IDAT chunk of `packed` zeros.
Bytes png_header(uint32_t width, uint32_t height, size_t packed) {
  Bytes out = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  const auto chunk = [&](const std::string& type, const Bytes& content) {
    Bytes body(type.begin(), type.end());
    body.insert(body.end(), content.begin(), content.end());
    out.resize(out.size() + 4);
    put_big(out, out.size() - 4, static_cast<uint32_t>(content.size()));
    out.insert(out.end(), body.begin(), body.end());
    out.resize(out.size() + 4);
    put_big(out, out.size() - 4,
            static_cast<uint32_t>(crc32(0, body.data(), static_cast<uInt>(body.size()))));
  };
  Bytes header(13, 0);
  put_big(header, 0, width);
  put_big(header, 4, height);
  header[8] = 8;
  header[9] = 2;
  chunk("IHDR", header);
  chunk("IDAT", Bytes(packed, 0));
  chunk("IEND", {});
  return out;
}

/// A 24-bit BMP.
Bytes bmp(int32_t width, int32_t height, size_t pixel_bytes) {
  Bytes out(54 + pixel_bytes, 7);
  const auto put = [&](size_t at, uint32_t value, size_t size) {
    for (size_t i = 0; i < size; ++i) out[at + i] = static_cast<uint8_t>(value >> (8 * i));
  };
  put(0, 'B' | 'M' << 8, 2);
  put(2, static_cast<uint32_t>(out.size()), 4);
  put(6, 0, 4);
  put(10, 54, 4);
  put(14, 40, 4);
  put(18, static_cast<uint32_t>(width), 4);
  put(22, static_cast<uint32_t>(height), 4);
  put(26, 1, 2);
  put(28, 24, 2);
  for (size_t at = 30; at < 54; at += 4) put(at, 0, 4);
  return out;
}

TEST(DecodeImageTest, ChannelsAreThoseOfTheFileOrThoseAskedFor) {
  const std::pair<const char*, int64_t> cases[] = {{"rgb.png", 3},  {"rgba.png", 4}, {"grey.png", 1},
                                                   {"deep.png", 1}, {"grey.jpg", 1}, {"grey_alpha.png", 2},
                                                   {"rgb.bmp", 3},  {"full.jpg", 3}};
  for (const auto& [name, channels] : cases) {
    const Tensor own = decode_image_file(picture(name));
    EXPECT_EQ(own.dtype(), DType::uint8);
    EXPECT_EQ(own.shape()[2], channels) << name;
    for (const int64_t wanted : {1, 3, 4}) {
      const Shape expected = own.shape().with(2, wanted);
      EXPECT_EQ(decode_image_file(picture(name), {.channels = wanted}).shape(), expected) << name;
    }
  }
  EXPECT_THROW(decode_image_file(picture("rgb.png"), {.channels = 2}), InvalidArgumentError);
}

TEST(DecodeImageTest, DeepPicturesGiveTheirHighBytes) {
  const Tensor grey = decode_image_file(picture("deep.png"));
  const Tensor rgb = decode_image_file(picture("deep.png"), {.channels = 3});
  for (int64_t i = 0; i < grey.num_elements(); ++i)
    for (int64_t c = 0; c < 3; ++c) EXPECT_EQ(rgb.raw_as<uint8_t>()[3 * i + c], grey.raw_as<uint8_t>()[i]);
}

TEST(DecodeImageTest, FirstRowsOfBmpsAreTheLowerOrTheUpper) {
  Bytes up = bmp(2, 2, 16), down = bmp(2, -2, 16);
  for (Bytes* file : {&up, &down})
    for (size_t i = 0; i < 6; ++i) (*file)[54 + i] = static_cast<uint8_t>(i);
  const Tensor lower = decode_image(up), upper = decode_image(down);
  EXPECT_EQ(lower.shape(), (Shape{2, 2, 3}));
  EXPECT_EQ(lower.to_vector<uint8_t>(), (Bytes{7, 7, 7, 7, 7, 7, 2, 1, 0, 5, 4, 3}));
  EXPECT_EQ(upper.to_vector<uint8_t>(), (Bytes{2, 1, 0, 5, 4, 3, 7, 7, 7, 7, 7, 7}));
}

TEST(DecodeImageTest, EveryTruncationIsAnErrorThatNamesThePicture) {
  for (const char* name : kPictures) {
    const Bytes whole = picture_bytes(name);
    // The bytes behind a GIF's first frame, and the padding of a BMP's last row, may be missing.
    const size_t least = std::string(name).ends_with("gif") ? 100 : whole.size() - 4;
    for (size_t size = 0; size < least; size += 1 + size / 40) {
      const Bytes part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_NE(failure(part).find("x.jpg: "), std::string::npos) << name << " " << size;
    }
  }
}

TEST(DecodeImageTest, DamagedBytesAreErrorsOrOtherPixelsButNothingWorse) {
  for (const char* name : kPictures) {
    const Bytes whole = picture_bytes(name);
    for (size_t at = 0; at < whole.size(); at += 3)
      for (const uint8_t mask : {0xff, 0x80, 0x01}) {
        Bytes bytes = whole;
        bytes[at] ^= mask;
        try {
          decode_image(bytes, {.max_pixels = 1 << 16});
        } catch (const FileFormatError&) {
        }
      }
  }
}

TEST(DecodeImageTest, ReasonsAreThoseOfThePicturesFormat) {
  Bytes jpeg = picture_bytes("full.jpg");
  const Bytes frame = {0xff, 0xc0};
  const auto at = std::search(jpeg.begin(), jpeg.end(), frame.begin(), frame.end());
  ASSERT_NE(at, jpeg.end());
  at[4] = 12;  // bits of a sample
  EXPECT_THAT(failure(jpeg), testing::HasSubstr("only 8-bit"));
}

TEST(DecodeImageTest, ChecksumsOfPngsAreLookedAt) {
  Bytes bytes = picture_bytes("rgb.png");
  bytes[bytes.size() - 20] ^= 1;  // within the pixels
  EXPECT_NE(failure(bytes).find("the checksum of chunk IDAT"), std::string::npos);
}

TEST(DecodeImageTest, JpegsMustDefineTheHuffmanTablesThatTheyUse) {
  for (const char* name : {"full.jpg", "grey.jpg", "cmyk.jpg", "progressive.jpg"}) {
    Bytes bytes = picture_bytes(name);
    for (size_t i = 0; i + 1 < bytes.size(); ++i)
      if (bytes[i] == 0xff && bytes[i + 1] == 0xc4) bytes[i + 1] = 0xfe;  // a comment
    EXPECT_NE(failure(bytes).find("a scan uses DC Huffman table 0, which is not there"), std::string::npos)
        << name << ": " << failure(bytes);
  }
}

TEST(DecodeImageTest, SizesThatCannotBeTrueAllocateNothing) {
  EXPECT_NE(failure(png_header(100'000, 100'000, 50)).find("which 50 packed bytes cannot hold"),
            std::string::npos);
  EXPECT_NE(failure(png_header(0xffffffff, 0xffffffff, 50)), "");
  EXPECT_NE(failure(bmp(30'000, 30'000, 16)).find("it is cut off"), std::string::npos);
  EXPECT_NE(failure(bmp(2, INT32_MIN, 16)).find("it is cut off"), std::string::npos);
  EXPECT_NE(failure(bmp(0, 5, 16)).find("no pixels"), std::string::npos);
  EXPECT_NE(failure(bmp(-3, 5, 160)).find("no pixels"), std::string::npos);
  EXPECT_NE(failure(png_header(0, 7, 50)), "");
}

/// A JPEG's first frame header, behind its marker and length.
size_t frame_of(const Bytes& jpeg) {
  for (size_t i = 2; i + 9 < jpeg.size(); i += 2 + size_t{jpeg[i + 2]} * 256 + jpeg[i + 3])
    if (jpeg[i + 1] == 0xc0 || jpeg[i + 1] == 0xc2) return i + 4;
  return 0;
}

void put_jpeg_size(Bytes& jpeg, uint16_t height, uint16_t width) {
  const size_t at = frame_of(jpeg) + 1;
  for (const auto& [place, value] : {std::pair{at, height}, {at + 2, width}}) {
    jpeg[place] = static_cast<uint8_t>(value >> 8);
    jpeg[place + 1] = static_cast<uint8_t>(value);
  }
}

TEST(DecodeImageTest, JpegsAndGifsThatPromiseMoreThanTheyHoldAllocateNothing) {
  for (const char* name : {"full.jpg", "halved.jpg", "grey.jpg", "cmyk.jpg", "progressive.jpg"}) {
    Bytes jpeg = picture_bytes(name);
    ASSERT_LT(jpeg.size(), 3000u);
    put_jpeg_size(jpeg, 13'000, 13'000);
    EXPECT_NE(failure(jpeg).find("promises 13000 x 13000 pixels, which its bytes cannot hold"),
              std::string::npos)
        << name << ": " << failure(jpeg);
    put_jpeg_size(jpeg, 1'000, 1'000);
    try {
      EXPECT_EQ(decode_image(jpeg).shape().slice(0, 2), (Shape{1'000, 1'000})) << name;
    } catch (const FileFormatError& error) {  // that the scan ends too early
      EXPECT_EQ(std::string(error.what()).find("cannot hold"), std::string::npos) << error.what();
    }
  }
  Bytes gif = picture_bytes("frames.gif");
  gif[7] = gif[9] = 0x33;
  EXPECT_NE(failure(gif).find("which its bytes cannot hold"), std::string::npos) << failure(gif);
  Bytes packed = bmp(13'000, 13'000, 16);
  packed[30] = 4;
  EXPECT_NE(failure(packed).find("unknown way 4"), std::string::npos) << failure(packed);
}

TEST(DecodeImageTest, PicturesLargerThanTheLimitAreErrors) {
  const Bytes bytes = picture_bytes("rgb.png");  // 9 x 13
  EXPECT_EQ(failure(bytes, {.max_pixels = 116, .name = "p"}),
            "p: expected a picture of at most 116 pixels, found 9 x 13");
  EXPECT_EQ(decode_image(bytes, {.max_pixels = 117}).shape(), (Shape{9, 13, 3}));
  EXPECT_NE(failure(png_header(14'000, 14'000, 600'000)).find("at most 178956970 pixels"), std::string::npos);
}

TEST(DecodeImageTest, OtherFormatsAreNamed) {
  const auto text = [](const std::string& s) { return Bytes(s.begin(), s.end()); };
  EXPECT_EQ(failure({}), "x.jpg: expected a JPEG, PNG, BMP or GIF picture, found an empty file");
  EXPECT_NE(failure(text("RIFF....WEBPVP8 ")).find("found a WebP picture"), std::string::npos);
  EXPECT_NE(failure(text("<!doctype html>")).find("found a web page"), std::string::npos);
  EXPECT_NE(failure(text("II*...")).find("found a TIFF picture"), std::string::npos);
  EXPECT_NE(failure(text("hello")).find("found bytes that are none of these"), std::string::npos);
}

TEST(DecodeImageTest, FilesThatCannotBeReadAreErrors) {
  const ScratchFolder folder;
  EXPECT_THROW(decode_image_file(folder / "absent.png"), IoError);
  EXPECT_THROW(decode_image_file(folder.path()), IoError);
  EXPECT_THROW(decode_image_file("/dev/zero"), IoError);
}

TEST(DecodeImageTest, RealPhotos) {
  const auto photos = datasets::test_data() / "imagenet/photos";
  if (!std::filesystem::is_directory(photos)) GTEST_SKIP() << "no photos: set NYALA_TEST_DATA";
  // Height, width and the mean level of the file as Pillow decodes it.
  struct Photo {
    const char* name;
    int64_t height, width;
    double mean;
  };
  const Photo all[] = {{"bird.bmp", 343, 512, 83.013},
                       {"caffe_cat.jpg", 360, 480, 115.806},
                       {"caffe_fish_bike.jpg", 323, 481, 173.217},
                       {"cat.bmp", 341, 512, 113.628},
                       {"cat_720p.jpg", 720, 1280, 113.647},
                       {"cat_test_0.bmp", 768, 512, 45.561},
                       {"dog_test_0.bmp", 340, 512, 88.491},
                       {"dragonfly.bmp", 418, 512, 120.364},
                       {"face.jpg", 355, 512, 95.681},
                       {"grace_hopper.bmp", 600, 512, 80.460},
                       {"hot_dog.jpg", 384, 512, 51.935},
                       {"hotdog_test_0.bmp", 384, 512, 132.075},
                       {"hotdog_train_0.bmp", 512, 512, 119.341},
                       {"owl.jpg", 384, 512, 93.319},
                       {"parrot.jpg", 929, 512, 131.911},
                       {"pets.jpg", 430, 512, 95.141},
                       {"samoyed_256.bmp", 256, 256, 121.832},
                       {"sunflower.bmp", 340, 512, 113.240}};
  for (const Photo& photo : all) {
    const Tensor image = decode_image_file(photos / photo.name, {.channels = 3});
    ASSERT_EQ(image.shape(), (Shape{photo.height, photo.width, 3})) << photo.name;
    double sum = 0;
    for (const uint8_t value : image.data<uint8_t>()) sum += value;
    EXPECT_NEAR(sum / static_cast<double>(image.num_elements()), photo.mean, 0.1) << photo.name;
  }
}

}  // namespace
}  // namespace nyala
